/** The pages of the documentation: every Markdown file of the repository. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Paths from the root of the repository. */
export const pages: readonly string[] = globSync('**/*.md', {
  cwd: root,
  exclude: (path) => /(^|\/)(node_modules|dist|coverage|\.git)$/.test(path),
}).sort()

export const readPage = (page: string): string => readFileSync(`${root}${page}`, 'utf8')

/** The contents of the code blocks of a page in a language, in their order. */
export const codeBlocks = (page: string, language: string): string[] =>
  [...readPage(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text = '']) => text,
  )
