// The secret of the link, or the one that this tab got for it, goes with each connection; neither is sent elsewhere.
const given = location.hash.slice(1), kept = sessionStorage.getItem("gsh-tui");
const secrets = [kept, given].filter((one) => one && /^[\w.-]+$/.test(one)); // a browser connects with no other words
if (given) history.replaceState(null, "", location.pathname);
addEventListener("hashchange", () => location.reload());
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url, ["gsh-tui", ...secrets]);
    let opened = false;
    this.addEventListener("open", () => { opened = true; });
    this.addEventListener("message", (event) => {
      if (typeof event.data !== "string") return;
      const [kind, secret] = JSON.parse(event.data);
      if (kind === "tab") sessionStorage.setItem("gsh-tui", secret);
    });
    this.addEventListener("close", () => {
      if (!opened) document.getElementById("message").textContent = document.body.dataset.refused;
    });
  }
};
