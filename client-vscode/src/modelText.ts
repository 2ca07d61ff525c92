/** Models to choose from: in what order, and what is said of each. */

import { tokensText } from "./amounts";
import type { ModelInfo } from "./protocol";

/** Return the models with the chosen one first, then those that can be used. */
export function inOrder(models: readonly ModelInfo[], chosen: string | null): readonly ModelInfo[] {
  const rank = (model: ModelInfo) => (model.id === chosen ? 0 : model.available ? 1 : 2);
  return models.toSorted((one, other) => rank(one) - rank(other));
}

/** Return the model's id and provider, as far as its name does not say them. */
export function modelOrigin({ id, displayName, provider }: ModelInfo): string {
  return id === displayName ? provider : `${id} · ${provider}`;
}

/** Return what there is to know before choosing: whether it can be used, its window, its price. */
export function modelDetail(model: ModelInfo): string {
  const { available, contextWindow, inputUsdPerMtok, outputUsdPerMtok } = model;
  const priced = inputUsdPerMtok !== null && outputUsdPerMtok !== null;
  return [
    ...(available ? [] : ["Not available: a key is missing"]),
    ...(contextWindow === null ? [] : [`${tokensText(contextWindow)} tokens`]),
    ...(priced && inputUsdPerMtok + outputUsdPerMtok > 0
      ? [`$${inputUsdPerMtok} in, $${outputUsdPerMtok} out for a million`]
      : []),
  ].join(" · ");
}
