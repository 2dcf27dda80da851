/**
 * Index extraction against JSON.parse and compiled fhirpath.js, on the R4 examples of the types that are written most.
 * Figures: ≤ 0.5x JSON.parse, ≥ 40x faster than fhirpath.js. Run: `node test/bench/extract.ts`
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadPathInterpreter } from '../../plugins/model/fhirpath/extraction/interpreted.ts'
import { compileSearchDefinitions } from '../../plugins/search/definition/compile-definitions.ts'
import type { SearchParameterResource } from '../../plugins/search/definition/stored-definitions.ts'
import { createConverters } from '../../plugins/search/index/convert/converters.ts'
import { compileExtractor, type Extract } from '../../plugins/search/index/extractor.ts'
import { createHasher } from '../../plugins/search/index/hash.ts'
import { IndexEntries } from '../../plugins/search/index/index-entries.ts'
import { examplesFolder } from '../support/stub-definitions.ts'

const ROUNDS = 7
const TYPES = [
  'Observation',
  'Patient',
  'Encounter',
  'Condition',
  'MedicationRequest',
  'Procedure',
  'DiagnosticReport',
  'Claim',
]
const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json'))
const loadAll = (type: string) =>
  names.filter((name) => name.startsWith(`${type}-`)).map((name) => readFileSync(join(examplesFolder, name), 'utf8'))
const parseAll = (type: string) => loadAll(type).map((text) => JSON.parse(text))

const parameters: SearchParameterResource[] = parseAll('SearchParameter')
const model = compileSearchDefinitions({
  structures: parseAll('StructureDefinition'),
  parameters,
  compartments: [],
  types: TYPES,
})
const converters = createConverters(createHasher(42))
const compile = await loadPathInterpreter()

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
const time = (times: number, work: () => void): number => {
  const started = process.cpuUsage()
  for (let at = 0; at < times; at += 1) work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / times
}

const sums = { parse: 0, extract: 0, fhirpath: 0 }
console.log('type                 texts  parse µs  extract µs  ratio  fhirpath µs  faster')
for (const type of TYPES) {
  // Compact, as clients send it.
  const texts = loadAll(type).map((text) => JSON.stringify(JSON.parse(text)))
  const resources = texts.map((text) => JSON.parse(text))
  const columns = model.columns
    .map((column, at) => ({
      ...column,
      code: at * 4,
      ...(column.of === undefined ? {} : { refers: column.of.refers }),
    }))
    .filter((column) => column.type === type)
  const extract: Extract = compileExtractor(columns, converters)
  const expressions = model.parameters
    .filter(({ base, type: kind }) => base === type && kind !== 'composite')
    .flatMap(({ url }) => parameters.find((one) => one.url === url)?.expression ?? [])
    // Part by part: a union compares what it unites, which fails on some quantities.
    .flatMap((expression) => expression.split(' | '))
    .filter(
      (part) => !/^\(?[A-Z]/.test(part) || part.replace('(', '').startsWith(`${type}.`) || part.startsWith('Resource.'),
    )
    .map((part) => compile(part))
  const passes = Math.ceil(3_000 / texts.length)
  const runs = { parse: [] as number[], extract: [] as number[], fhirpath: [] as number[] }
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.parse.push(time(passes, () => texts.forEach((text) => void JSON.parse(text))) / texts.length)
    const extractAll = (): void => {
      for (const one of resources) extract(one, new IndexEntries())
    }
    const evaluateAll = (): void => {
      for (const one of resources) for (const run of expressions) run(one)
    }
    runs.extract.push(time(passes, extractAll) / texts.length)
    if (round < 3) runs.fhirpath.push(time(1, evaluateAll) / texts.length)
  }
  const [parse, extraction, engine] = [median(runs.parse), median(runs.extract), median(runs.fhirpath)]
  sums.parse += parse * texts.length
  sums.extract += extraction * texts.length
  sums.fhirpath += engine * texts.length
  const cells = [
    texts.length,
    parse.toFixed(1),
    extraction.toFixed(2),
    (extraction / parse).toFixed(2),
    engine.toFixed(0),
    (engine / extraction).toFixed(0),
  ]
  console.log(type.padEnd(20), ...cells.map((cell) => String(cell).padStart(9)))
}
console.log(
  `together: extraction ${(sums.extract / sums.parse).toFixed(2)}x JSON.parse, fhirpath.js takes ${(sums.fhirpath / sums.extract).toFixed(0)}x as long`,
)
