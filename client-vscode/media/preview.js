// Keeps the end of a growing conversation in sight, for as long as the reader is at the end.
(() => {
  const NEAR_PIXELS = 60;
  let following = true;
  let scrolledTo = 0;

  // Below the conversation the page may go on, empty, for the editor's setting says so.
  const pixelsBelow = () => {
    const conversation = document.querySelector(".agentls-conversation");
    return conversation === null ? null : conversation.getBoundingClientRect().bottom - innerHeight;
  };
  const follow = () => {
    const below = pixelsBelow();
    if (following && below !== null) window.scrollTo(0, Math.max(0, window.scrollY + below));
  };

  // Text that has just come puts the end out of sight; only going up says that the reader leaves it.
  window.addEventListener("scroll", () => {
    const near = (pixelsBelow() ?? 0) <= NEAR_PIXELS;
    following = near || (following && window.scrollY >= scrolledTo);
    scrolledTo = window.scrollY;
  });
  window.addEventListener("vscode.markdown.updateContent", follow);
  window.addEventListener("load", follow);
})();
