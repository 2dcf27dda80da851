/** Texts that would run, lead away or break out of their place where a page does not escape them. */
export const HOSTILE: readonly string[] = [
  '<script>window.pwned=1</script>',
  '"><img src=x onerror=window.pwned=1>',
  "' onmouseover='window.pwned=1",
  '" autofocus onfocus="window.pwned=1',
  'javascript:window.pwned=1',
  'data:text/html,<script>window.pwned=1</script>',
  'https://evil.example.org/"onclick="window.pwned=1',
  'http://127.0.0.1:1/<b>x',
  '</pre></section><script>window.pwned=1</script>',
  '</title><svg onload=window.pwned=1>',
  '<!--',
  '=cmd|calc!A1',
  '{{constructor.constructor("window.pwned=1")()}}',
  '&lt;script&gt;&#x3c;script&#x3e;',
  '\u202e\u0085\u2028 reversed',
  '//evil.example.org/x',
]

export const hostileNarrative = (text: string): string =>
  `<div xmlns="http://www.w3.org/1999/xhtml" onclick="window.pwned=1"><script>window.pwned=1</script><style>main{display:none}</style>` +
  `<a href="javascript:window.pwned=1">a</a><img src="x" onerror="window.pwned=1"/><svg onload="window.pwned=1"><p>in</p></svg>` +
  `<table style="position:fixed"><tr><td colspan="2" onclick="window.pwned=1">cell</td></tr></table><form action="//evil.example.org"><input name="q"/><button>go</button></form>` +
  `<iframe src="https://evil.example.org"></iframe><p class="x">${text}</p></main><b>kept</b></div>`

interface Tag {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
}

const TAG = /<\/?([a-zA-Z][^\s/>]*)((?:\s+[^\s=>"']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+))?)*)\s*\/?>/g
const ATTRIBUTE = /([^\s=>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g

/** The tags of a page, without its style sheet, as a browser would see them. */
export const tagsOf = (page: string): readonly Tag[] =>
  [...page.replace(/<style>[\s\S]*?<\/style>/, '').matchAll(TAG)].map(([, name = '', attributes = '']) => ({
    name: name.toLowerCase(),
    attributes: new Map(
      [...attributes.matchAll(ATTRIBUTE)].map(([, key = '', one, two, three]) => [
        key.toLowerCase(),
        one ?? two ?? three ?? '',
      ]),
    ),
  }))

const ELEMENTS = new Set(
  'html head meta title body a header nav ol ul li main section h1 h2 p dl dt dd details summary table caption thead tbody tr th td pre span code strong b i em br hr div form label input select option svg rect button footer time bdi'.split(
    ' ',
  ),
)
const ATTRIBUTES = new Set(
  'lang charset name content class href rel aria-label aria-labelledby aria-current id for value autocomplete spellcheck method action role open scope data-label tabindex selected aria-hidden viewbox preserveaspectratio x y width height colspan rowspan'.split(
    ' ',
  ),
)

/** What a page holds that none of ours has. */
export const foreignMarkup = (page: string): readonly string[] =>
  tagsOf(page).flatMap(({ name, attributes }) => [
    ...(ELEMENTS.has(name) ? [] : [`element ${name}`]),
    ...[...attributes].flatMap(([key, value]) => {
      if (!ATTRIBUTES.has(key)) return [`attribute ${key} of ${name}`]
      if ((key === 'href' || key === 'action') && !/^(?:\/(?![/\\])|#|https?:\/\/)/.test(value))
        return [`${key} ${value}`]
      return []
    }),
  ])
