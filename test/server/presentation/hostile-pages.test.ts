/** Whatever a client has stored, or writes into an address, is text on a page: never markup, never a script, never a link of its own. */
// database: sqlite, because pages are made of answers, which do not depend on the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import html from '../../../plugins/html/index.ts'
import { showNarrative } from '../../../plugins/html/narrative.ts'
import { type Chromium, startChromium } from '../../support/chromium.ts'
import { chromiumMissing } from '../../support/chromium-installation.ts'
import { foreignMarkup, HOSTILE, hostileNarrative } from '../../support/hostile-texts.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
let server: TestServer
let address: string

test.before(async () => {
  server = await serverWith({
    plugins: [...basic, html, audit],
    settings: {
      conformance: { update_as_create: true },
      server: { bind: '127.0.0.1:0' },
    },
  })
  address = await server.listen()
  for (const [at, text] of HOSTILE.entries()) {
    const id = `h${at}`
    const link = text.replaceAll(/\s/g, '')
    const payload = JSON.stringify({
      resourceType: 'Patient',
      id,
      meta: { profile: [link], tag: [{ system: link, code: 'a', display: text }] },
      extension: [{ url: link, valueString: text }],
      identifier: [{ system: link, value: text }],
      name: [{ text, family: text }],
      photo: [{ url: link, title: text }],
    })
    const stored = await server.inject({ method: 'PUT', url: `/Patient/${id}`, headers: FHIR, payload })
    assert.ok(stored.statusCode < 300, stored.body)
  }
})
test.after(() => server?.stop())

const page = async (url: string, more: Readonly<Record<string, string>> = {}): Promise<string> => {
  const { body, headers } = await server.inject({ url, headers: { accept: BROWSER, ...more } })
  assert.is(headers['content-type'], 'text/html; charset=utf-8', url)
  return body
}

const addresses = (): string[] => [
  ...HOSTILE.map((_, at) => `/Patient/h${at}`),
  '/Patient?_count=100',
  '/_history?_count=100',
  '/Patient/h1/_history',
  '/_audit',
  ...HOSTILE.flatMap((text) => {
    const encoded = encodeURIComponent(text)
    return [
      `/Patient?_id=${encoded}`,
      `/Patient?${encoded}=x`,
      `/Patient?_sort=${encoded}`,
      `/${encoded}`,
      `/${encoded}/${encoded}`,
      `/Patient/${encoded}/_history`,
      `/Patient/h1/$${encoded}`,
      `/a/b/c/d/${encoded}`,
      `/_audit?agent=${encoded}`,
    ]
  }),
]

test('no stored text and no text of an address becomes markup', async () => {
  for (const url of addresses()) assert.equal(foreignMarkup(await page(url)), [], url)
})

test('a header that is shown cannot break out of its place', async () => {
  const body = await page('/Patient/h1', { host: 'evil.example.org', 'x-request-id': 'a"b<script>' })
  assert.equal(foreignMarkup(body), [])
})

test('a narrative is made anew of a few elements, and a browser sees nothing else of it', () => {
  for (const text of HOSTILE) {
    const shown = showNarrative(hostileNarrative(text))?.text as string
    assert.equal(foreignMarkup(shown), [], text)
    assert.match(shown, /<td colspan="2">cell<\/td>/)
    assert.not.match(shown, /in<|pwned=1<\/script/)
  }
})

test('what a narrative holds behind elements that are left out is kept', () => {
  assert.match(showNarrative(hostileNarrative('plain'))?.text as string, /<p>plain<\/p><b>kept<\/b>/)
})

test('a narrative is balanced, whatever it leaves open or closes', () => {
  for (const [given, expected] of [
    ['<div><p>a', '<div><p>a</p></div>'],
    ['</div></main>a', 'a'],
    ['<b><i>a</b>c</i>', '<b><i>a</i></b>c'],
    ['<p>1 &lt; 2 &amp;&#60;b&#x3e; &unknown;', '<p>1 &lt; 2 &amp;&lt;b&gt; &amp;unknown;</p>'],
    ['<script>a</script', ''],
    ['<scr<script>ipt>alert(1)</script>', 'ipt&gt;alert(1)'],
    ['a<!-- <b>b</b> --><![CDATA[<i>]]>', 'a'],
    ['<p a="<img src=x onerror=y>">b</p>', '<p>b</p>'],
  ] as const)
    assert.is(showNarrative(given)?.text, `<div class="narrative" tabindex="0">${expected}</div>`, given)
})

if (chromiumMissing !== undefined) {
  test(`nothing was tried in a browser: ${chromiumMissing}`, () => {})
} else {
  let chromium: Chromium
  test('in Chromium no script of a stored text runs, and no page breaks its policy', async () => {
    chromium = await startChromium()
    try {
      const { page: tab, complaints, close } = await chromium.open()
      for (const url of ['/Patient?_count=100', '/_history?_count=100', ...HOSTILE.map((_, at) => `/Patient/h${at}`)]) {
        await tab.goto(`${address}${url}`)
        assert.is(await tab.evaluate('window.pwned'), undefined, url)
        const shown = (await tab.evaluate('document.documentElement.outerHTML')) as string
        assert.equal(foreignMarkup(shown), [], url)
      }
      assert.equal(complaints, [])
      await close()
    } finally {
      await chromium.close()
    }
  })
}

test.run()
