/** What all pages have around their content. */
import { type Html, headOf, html, trusted } from '../../html/service.ts'
import { STYLE } from './style.ts'
import type { Texts } from './texts.ts'

/** A heart in a shield; the colour is that of the text. */
const SIGN = trusted(
  '<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round"><path d="M12 2.5 4 5.4v6.1c0 4.8 3.3 8.4 8 10 4.7-1.6 8-5.2 8-10V5.4z"/><path d="M12 16.2s-3.7-2.2-3.7-4.7a2 2 0 0 1 3.7-1.1 2 2 0 0 1 3.7 1.1c0 2.5-3.7 4.7-3.7 4.7z" fill="currentColor" stroke="none"/></svg>',
)

export interface Content {
  /** In the title of the window. */
  readonly title: string
  readonly body: Html
  /** For tables. */
  readonly isWide?: boolean
}

export const documentOf = ({ title, body, isWide = false }: Content, texts: Texts): string =>
  html`<!doctype html>
<html lang="${texts.language}">
${headOf(title, texts.place, STYLE)}
<body>
<main${isWide && html` class="wide"`}>
<p class="place">${SIGN}<span>${texts.place}</span></p>
${body}
</main>
</body>
</html>
`.text
