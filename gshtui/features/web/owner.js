// What is typed goes to the window without a click into it first.
addEventListener("load", () => setTimeout(() => document.querySelector(".xterm-helper-textarea")?.focus()));
