/** The head of every page: it tells search engines and other sites nothing, and has one style sheet. */
import { type Html, html, trusted } from './html.ts'

/** `place`: what the title of the window names behind that of the page. `style`: CSS of this program. */
export const headOf = (title: string, place: string, style: string): Html => html`<head>
<meta charset="utf-8">
<title>${title} – ${place}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<style>${trusted(style)}</style>
</head>`
