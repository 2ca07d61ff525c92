// Keeps the end of a growing conversation in sight, for as long as the reader is at the end.
(() => {
  const NEAR_PIXELS = 60;
  let following = true;

  // Below the conversation the page may go on, empty, for the editor's setting says so.
  const pixelsBelow = () => {
    const conversation = document.querySelector(".agentls-conversation");
    return conversation === null ? null : conversation.getBoundingClientRect().bottom - innerHeight;
  };
  const follow = () => {
    const below = pixelsBelow();
    if (following && below !== null) window.scrollTo(0, Math.max(0, window.scrollY + below));
  };

  window.addEventListener("scroll", () => {
    following = (pixelsBelow() ?? 0) <= NEAR_PIXELS;
  });
  window.addEventListener("vscode.markdown.updateContent", follow);
  window.addEventListener("load", follow);
})();
