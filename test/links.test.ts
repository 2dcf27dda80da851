/** The links of all Markdown files lead somewhere: files, folders, and headings of pages. */
import { existsSync, globSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { pages, readPage } from './support/pages.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const withoutBlocks = (text: string): string => text.replace(/^( *)```[\s\S]*?^\1```/gm, '')
const withoutCode = (text: string): string => withoutBlocks(text).replace(/`[^`\n]+`/g, 'code')

/** The anchors of headings, as GitHub and npm make them. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutBlocks(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = shown.replace(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    anchors.add(times === 0 ? anchor : `${anchor}-${times}`)
  }
  return anchors
}

/** Why a link of a page leads nowhere; undefined where it leads somewhere. Addresses of other hosts are not asked. */
const fault = (page: string, target: string, read: (page: string) => string): string | undefined => {
  if (/^[a-z]+:/.test(target)) return undefined
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(path))
  if (file.startsWith('..')) return `${target}: outside of the repository`
  if (path !== '' && !existsSync(`${root}${file}`)) return `${target}: there is no ${file}`
  if (anchor === undefined) return undefined
  return anchorsOf(read(file)).has(anchor) ? undefined : `${target}: ${file} has no heading #${anchor}`
}

const faults = (page: string, read: (page: string) => string): readonly string[] =>
  [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(
    ([, target = '']) => fault(page, target, read) ?? [],
  )

for (const page of pages) test(`the links of ${page} lead somewhere`, () => assert.equal(faults(page, readPage), []))

test('a link to a file, a heading or a place outside that is not there is found', () => {
  const text = `# One
## Who may \`import\` whom, and [why](x)?
## One
[a](CONTRIBUTING.md) [b](#one-1) [c](#who-may-import-whom-and-why) [d](https://example.org/none) [e](kernel/hooks.ts)
[f](NONE.md) [g](#two) [h](../x) [i](CONTRIBUTING.md#none) \`[j](none)\`
\`\`\`md
[k](none)
# Two
\`\`\`
`
  assert.equal(
    faults('README.md', (page) => (page === 'README.md' ? text : readPage(page))).map((one) => one.split(':')[0]),
    ['x', 'NONE.md', '#two', '../x', 'CONTRIBUTING.md#none'],
  )
})

test('the package has the pages: who installed it reads them there', () => {
  const { files } = JSON.parse(readPage('package.json')) as { files: readonly string[] }
  const packed = new Set(['README.md', ...files.flatMap((one) => globSync([one, `${one}/**/*.md`], { cwd: root }))])
  assert.equal(
    pages.filter((page) => !packed.has(page)),
    [],
  )
})

test('every page was read, and is linked from another one', () => {
  assert.ok(pages.length > 30)
  const linked = new Set(
    pages.flatMap((page) =>
      [...withoutCode(readPage(page)).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, target = '']) =>
        posix.join(posix.dirname(page), target),
      ),
    ),
  )
  assert.equal(
    pages.filter((page) => page !== 'README.md' && !linked.has(page)),
    [],
  )
})

test.run()
