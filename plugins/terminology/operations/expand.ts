/** $expand: the codes of a value set. https://hl7.org/fhir/R4/valueset-operation-expand.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import type { ExpandedCode } from '../expansion.ts'
import type { Expanding } from '../terminology.ts'
import { valueSetOf } from './asked.ts'

const toText = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/** A word of the display, or the code, begins with it. */
const matches = ({ code, display = '' }: ExpandedCode, filter: string): boolean => {
  const wanted = toText(filter)
  return ` ${toText(display)}`.includes(` ${wanted}`) || toText(code).startsWith(wanted)
}

export const expandOperation = (terminology: Expanding, clock: Clock): Operation => ({
  code: 'expand',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-expand',
  documentation: 'The codes of a value set, of the url, the address or the body.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the value set.' },
    { name: 'valueSetVersion', type: 'string', documentation: 'Its version.' },
    { name: 'valueSet', type: 'ValueSet', documentation: 'The value set itself.' },
    { name: 'filter', type: 'string', documentation: 'Only codes that begin so, or of which a word does.' },
    { name: 'offset', type: 'integer', documentation: 'How many codes to leave out at the beginning.' },
    { name: 'count', type: 'integer', documentation: 'How many codes to give at most; 0 for their number only.' },
  ],
  async answer(invocation) {
    const { inputs } = invocation
    const { name, resource, expansion } = await valueSetOf(terminology, invocation, 'expand')
    const filter = inputs.get<string>('filter')
    const all = [...expansion.values()].filter((one) => filter === undefined || matches(one, filter))
    const offset = Math.max(0, inputs.get<number>('offset') ?? 0)
    const count = inputs.get<number>('count')
    const shown = all.slice(offset, count === undefined ? undefined : offset + Math.max(0, count))
    const { url = name, version, name: title, status = 'active' } = resource ?? {}
    const isPage = inputs.get('offset') !== undefined || count !== undefined
    return {
      resource: {
        resourceType: 'ValueSet',
        url,
        ...(version === undefined ? {} : { version }),
        ...(title === undefined ? {} : { name: title }),
        status,
        expansion: {
          timestamp: new Date(clock.now()).toISOString(),
          total: all.length,
          ...(isPage ? { offset } : {}),
          ...(filter === undefined ? {} : { parameter: [{ name: 'filter', valueString: filter }] }),
          ...(shown.length === 0
            ? {}
            : {
                contains: shown.map(({ system, code, display }) => ({
                  ...(system === '' ? {} : { system }),
                  code,
                  ...(display === undefined ? {} : { display }),
                })),
              }),
        },
      },
    }
  },
})
