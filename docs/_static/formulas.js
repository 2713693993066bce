// Renders every formula of a page by KaTeX, in the text (span) or on lines of its own (div).
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".tex")) {
    const display = place.tagName === "DIV";
    katex.render(place.textContent, place, { displayMode: display, throwOnError: false, strict: "error" });
  }
});
