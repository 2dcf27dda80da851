/** $closure: a client's table of which of its codes are above which. https://hl7.org/fhir/R4/terminology-service.html#closure */
import { MethodRefused } from '../../../kernel/index.ts'
import type { AnsweringOperation, Invocation } from '../../fhir/service.ts'
import type { Closures } from '../closure/closures.ts'
import { newEntries, type Related, relatedOf } from '../closure/new-entries.ts'
import type { CodeRow, EntryRow } from '../closure/tables.ts'
import type { ConceptSource } from '../concept-source.ts'
import { ClosureInBundle, CodeUnknown, InputMissing, InputValue, NoHierarchy } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import type { ExpansionService } from '../terminology.ts'
import type { InputCoding } from './operation-inputs.ts'
import { usableSystem } from './requested-system.ts'

const MAX_NAME = 200 // characters
const MAX_OWNER = 255 // characters of a client or a user
const SHOWN = 200

interface Asked {
  readonly codes: readonly CodeRow[]
  /** By system and code. */
  readonly related: ReadonlyMap<string, ReadonlyMap<string, Related>>
}

/** The concepts of the request. Throws 400, 404 for those that no code system here has. */
const conceptsIn = async (terminology: ExpansionService, { inputs }: Invocation): Promise<Asked> => {
  const codes: CodeRow[] = []
  const systems = new Map<string, ConceptSource>()
  const related = new Map<string, Map<string, Related>>()
  for (const { system, version, code } of inputs.all<InputCoding>('concept')) {
    if (system === undefined || code === undefined)
      throw InputMissing('closure', 'the system and the code of each concept')
    const known = systems.get(system) ?? usableSystem(system, await terminology.source(system), 'complete')
    const { hierarchy } = known
    if (version !== undefined && version !== known.version)
      throw InputValue('closure', 'the version of a concept', version.slice(0, SHOWN), `it is ${known.version} here`)
    if (hierarchy !== 'is-a') throw NoHierarchy(system.slice(0, SHOWN), `its hierarchy means ${hierarchy}`)
    systems.set(system, known)
    const found = await known.find(code)
    if (found === undefined) throw CodeUnknown(system.slice(0, SHOWN), code.slice(0, 100))
    codes.push({ system, code: found.code })
    const ofSystem = related.get(system) ?? new Map<string, Related>()
    related.set(system, ofSystem)
    if (!ofSystem.has(found.code)) ofSystem.set(found.code, await relatedOf(known, found))
  }
  return { codes, related }
}

const versionIn = ({ inputs }: Invocation): number | undefined => {
  const given = inputs.get<string>('version')
  if (given === undefined) return undefined
  if (!/^\d{1,15}$/.test(given))
    throw InputValue('closure', 'version', given.slice(0, SHOWN), 'it takes a version that $closure has answered')
  return Number(given)
}

const toGroups = (entries: readonly EntryRow[]): readonly Json[] =>
  [...Map.groupBy(entries, ({ system }) => system)].map(([system, list]) => ({
    source: system,
    target: system,
    element: [...Map.groupBy(list, ({ below }) => below)].map(([code, above]) => ({
      code,
      target: above.map((one) => ({ code: one.above, equivalence: 'subsumes' })),
    })),
  }))

export const closureOperation = (terminology: ExpansionService, closures: Closures): AnsweringOperation => ({
  code: 'closure',
  definition: 'http://hl7.org/fhir/OperationDefinition/ConceptMap-closure',
  documentation: 'Keeps for a client which of its codes are above which, and tells what is new.',
  levels: ['system'],
  isWriters: true,
  parameters: [
    {
      name: 'name',
      type: 'string',
      min: 1,
      documentation: 'The name of the closure, chosen by the client; alone it begins it.',
    },
    { name: 'concept', type: 'Coding', max: '*', documentation: 'A concept to add.' },
    { name: 'version', type: 'string', documentation: 'All entries since that version are asked for.' },
  ],
  async answer(invocation) {
    const { inputs, request, interaction } = invocation
    if (interaction.entry !== undefined) throw ClosureInBundle()
    if (request.method !== 'POST') throw MethodRefused(request.method).with({ headers: { allow: 'POST' } })
    const name = inputs.get<string>('name') ?? ''
    // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL stores no U+0000.
    if (name.length > MAX_NAME || /[\u0000-\u001f]/.test(name))
      throw InputValue('closure', 'name', name.slice(0, SHOWN), `it has at most ${MAX_NAME} characters, on one line`)
    const { client = '', user: person = '' } = request.caller
    if (client.length > MAX_OWNER || person.length > MAX_OWNER)
      throw InputValue('closure', 'the client', client.slice(0, SHOWN), `it has at most ${MAX_OWNER} characters`)
    const { codes, related } = await conceptsIn(terminology, invocation)
    const since = versionIn(invocation)
    const key = { client, person, name }
    const { version, entries } =
      codes.length === 0 && since === undefined
        ? await closures.begin(key)
        : await closures.add(
            key,
            codes,
            (system, known, added) => newEntries(known, added, related.get(system) ?? new Map()),
            since,
          )
    const group = toGroups(entries)
    return {
      resource: {
        resourceType: 'ConceptMap',
        version: String(version),
        name: `Updates for closure ${name}`,
        status: 'active',
        experimental: true,
        date: new Date(request.startedAt).toISOString(),
        ...(group.length > 0 && { group }),
      },
    }
  },
})
