/** The definitions and examples of R4, from the npm package hl7.fhir.r4.examples; files are read when asked for. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import type { StructureDefinition } from '../../../plugins/model/snapshot/structure-definition.ts'
import type { Definition, Definitions } from '../../../plugins/packages/service.ts'
import { isChosen } from '../../support/chosen-examples.ts'

const folder = dirname(createRequire(import.meta.url).resolve('hl7.fhir.r4.examples/package.json'))

export const r4Files = (): string[] => readdirSync(folder).filter((file) => /^[A-Z].*\.json$/.test(file))

/** The files in which each element is in each of its shapes; with ALL_EXAMPLES=1 all of them. */
export const r4Part = (): string[] => r4Files().filter(isChosen)
/** How many of them a test has to see. */
export const atLeast = (part: number, all: number): number => (process.env.ALL_EXAMPLES === undefined ? part : all)

export const r4Text = (file: string): string => readFileSync(join(folder, file), 'utf8')

export const r4Json = (file: string): any => JSON.parse(r4Text(file))

/** Files of R4 are named after ids, which end most canonicals. */
export const r4Canonical = (type: string, url: string): string | undefined => {
  const file = `${type}-${url.slice(url.lastIndexOf('/') + 1)}.json`
  try {
    const text = r4Text(file)
    return JSON.parse(text).url === url ? text : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

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
      if (own !== undefined) return own
      const text = r4Canonical('StructureDefinition', url)
      return text === undefined ? undefined : JSON.parse(text)
    },
  }
}

/** The Definitions service over R4 and definitions made in the test; `found` lists what was looked for. */
export const r4Service = (more: readonly Record<string, any>[] = []) => {
  const found: string[] = []
  const service = {
    packages: [{ name: 'hl7.fhir.r4.examples', version: '4.0.1' }],
    fingerprint: 'r4',
    all: async () => assert.unreachable('all definitions of a type are asked for'),
    async find(type: string, url: string, version?: string): Promise<Definition | undefined> {
      found.push(`${type} ${url}`)
      const own = more.find((one) => one.resourceType === type && one.url === url)
      const json = own === undefined ? r4Canonical(type, url) : JSON.stringify(own)
      if (json === undefined) return undefined
      const parsed = JSON.parse(json)
      if (version !== undefined && parsed.version !== version) return undefined
      return { package: 'test@1', type, id: parsed.id, url, json }
    },
    refresh: async () => false,
  }
  return { service: service as typeof service & Definitions, found }
}
