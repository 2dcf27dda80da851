/** The texts of all generated files of the repository, made from the declarations of settings, flags and errors. */
import * as kernelErrors from '../../kernel/errors.ts'
import type { AnyPlugin, ErrorKind } from '../../kernel/index.ts'
import { settingsOf } from '../../kernel/settings/annotation.ts'
import { sectionsOf } from '../../kernel/settings/sections.ts'
import { between } from './between.ts'
import { jsonSchema } from './json-schema.ts'
import { sampleToml } from './sample-toml.ts'
import { searchTable } from './search-table.ts'
import { settingsTable } from './settings-table.ts'
import { isErrorKind, statusTable } from './status-table.ts'

/** Each page has one generated part; the rest of it is written by hand. */
const PAGES = {
  'cli/README.md': 'settings',
  'kernel/README.md': 'status codes',
  'plugins/search/README.md': 'search',
} as const

export const GENERATED = [
  'schemas/server-toml.schema.json',
  'examples/server.toml',
  'cli/README.md',
  'kernel/README.md',
  'plugins/search/README.md',
] as const

const errorKinds = (plugins: readonly AnyPlugin[]): readonly ErrorKind[] => [
  ...new Set(
    [kernelErrors, ...plugins.map((plugin) => plugin.errors ?? {})].flatMap((table) =>
      Object.values(table as object).filter(isErrorKind),
    ),
  ),
]

/** Path from the root of the repository → text. `read` gives a page as it is. */
export const generatedFiles = (
  plugins: readonly AnyPlugin[],
  read: (path: keyof typeof PAGES) => string,
): Readonly<Record<(typeof GENERATED)[number], string>> => {
  const settings = settingsOf(sectionsOf(plugins, []))
  const page = (path: keyof typeof PAGES, generated: string): string => between(read(path), PAGES[path], generated)
  return {
    'schemas/server-toml.schema.json': jsonSchema(settings),
    'examples/server.toml': sampleToml(settings),
    'cli/README.md': page('cli/README.md', settingsTable(settings)),
    'kernel/README.md': page('kernel/README.md', statusTable(errorKinds(plugins))),
    'plugins/search/README.md': page('plugins/search/README.md', searchTable()),
  }
}
