/** The definitions and examples of R4, from the npm package hl7.fhir.r4.examples; files are read when asked for. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { StructureDefinition } from '../../../plugins/validation/structure/definition.ts'

const folder = dirname(createRequire(import.meta.url).resolve('hl7.fhir.r4.examples/package.json'))

export const r4Files = (): string[] => readdirSync(folder).filter((file) => /^[A-Z].*\.json$/.test(file))

export const r4Text = (file: string): string => readFileSync(join(folder, file), 'utf8')

export const r4Json = (file: string): any => JSON.parse(r4Text(file))

/** A source of R4's StructureDefinitions that notes which were asked for. */
export const r4Definitions = (
  more: readonly StructureDefinition[] = [],
): { definition(url: string): StructureDefinition | undefined; readonly asked: string[] } => {
  const known = new Map(more.map((definition) => [definition.url, definition]))
  const asked: string[] = []
  return {
    asked,
    definition(url) {
      asked.push(url)
      const own = known.get(url)
      if (own !== undefined || !url.startsWith('http://hl7.org/fhir/StructureDefinition/')) return own
      try {
        const found = r4Json(`StructureDefinition-${url.slice(url.lastIndexOf('/') + 1)}.json`)
        return found.url === url ? found : undefined
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
  }
}
