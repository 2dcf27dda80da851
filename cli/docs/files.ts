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

export const GENERATED = ['schemas/server-toml.schema.json', 'examples/server.toml', 'README.md'] as const

const errorKinds = (plugins: readonly AnyPlugin[]): readonly ErrorKind[] => [
  ...new Set(
    [kernelErrors, ...plugins.map((plugin) => plugin.errors ?? {})].flatMap((table) =>
      Object.values(table as object).filter(isErrorKind),
    ),
  ),
]

/** Path from the root of the repository → text. `readme` is the README as it is. */
export const generatedFiles = (
  plugins: readonly AnyPlugin[],
  readme: string,
): Readonly<Record<(typeof GENERATED)[number], string>> => {
  const settings = settingsOf(sectionsOf(plugins, []))
  return {
    'schemas/server-toml.schema.json': jsonSchema(settings),
    'examples/server.toml': sampleToml(settings),
    'README.md': between(
      between(between(readme, 'settings', settingsTable(settings)), 'search', searchTable()),
      'status codes',
      statusTable(errorKinds(plugins)),
    ),
  }
}
