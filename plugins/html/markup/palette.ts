/** The colours of all pages, light and dark: text on each of its grounds has a contrast of at least 4.5. WCAG 2.1, 1.4.3 */
export const PALETTE = `:root {
  color-scheme: light dark;
  --page: #eef2f5; --card: #ffffff; --text: #17232d; --quiet: #4c5d6b; --line: #cfd8df; --field: #7b8a96;
  --main: #0b6077; --main-text: #ffffff; --main-over: #084a5c; --tint: #e9f3f6; --focus: #b4490a;
  --warn: #7a3b00; --warn-tint: #fdf1e2; --warn-line: #e6b877; --bad: #a3161c; --bad-tint: #fdecec; --bad-line: #eeb0b2;
  --shade: 0 1px 2px rgb(23 35 45 / .08), 0 8px 28px rgb(23 35 45 / .08);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10181e; --card: #18242c; --text: #e8eef2; --quiet: #a9b8c3; --line: #32434f; --field: #75889a;
    --main: #5fc2db; --main-text: #06222b; --main-over: #86d5e8; --tint: #1d323c; --focus: #ffb067;
    --warn: #ffd199; --warn-tint: #38290f; --warn-line: #7c5a23; --bad: #ffb4b4; --bad-tint: #3d1b1e; --bad-line: #82393d;
    --shade: 0 1px 2px rgb(0 0 0 / .4), 0 8px 28px rgb(0 0 0 / .3);
  }
}
`
