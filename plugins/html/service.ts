/** Other plugins may import this from html: functions that write and send pages, and the colours of pages. */
export { createLinks, type Links } from './links.ts'
export { headOf } from './markup/head.ts'
export { type Html, html, type Part, trusted } from './markup/html.ts'
export { PAGE_HEADERS, type PageContent, page } from './markup/page.ts'
export { PALETTE } from './markup/palette.ts'
