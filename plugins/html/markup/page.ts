/** A whole page that shows data: what is around its content, and the headers it is sent with. */
import { headOf } from './head.ts'
import { type Html, html } from './html.ts'
import { STYLE, STYLE_HASH } from './style.ts'

export interface PageContent {
  /** In the title of the window. */
  readonly title: string
  /** Path of the server's root, without a slash at its end; empty where the server has none. */
  readonly root: string
  /** The way from the root to this page. The last one is this page. */
  readonly trail: readonly { readonly name: string; readonly href: string }[]
  readonly body: Html
  /** Behind the content. */
  readonly foot?: Html | undefined
}

export const page = ({ title, root, trail, body, foot }: PageContent): string =>
  html`<!doctype html>
<html lang="en">
${headOf(title, 'refhir', STYLE)}
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><nav aria-label="Path">
<a class="home" href="${root}/metadata">refhir</a>
<ol>${trail.map(
    ({ name, href }, at) =>
      html`<li>${at === trail.length - 1 ? html`<a href="${href}" aria-current="page"><bdi>${name}</bdi></a>` : html`<a href="${href}"><bdi>${name}</bdi></a>`}</li>`,
  )}</ol>
</nav></header>
<main id="content">
${body}
</main>
${foot !== undefined && html`<footer class="foot">${foot}</footer>`}
</body>
</html>
`.text

/** No scripts, no images, no frames, one style sheet; forms lead to this server only. Nothing is kept by caches. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src '${STYLE_HASH}'`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
})
