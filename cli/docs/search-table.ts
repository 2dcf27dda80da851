/** What can be searched for and how, from the tables that the search itself goes by. */

import { PREFIXES } from '../../plugins/fhir/search/prefix.ts'
import { RESULT_PARAMETERS } from '../../plugins/fhir/search/request.ts'
import { GENERAL, MODIFIERS, UNSUPPORTED } from '../../plugins/fhir/search/supported.ts'
import { row } from './row.ts'

const PREFIXED = new Set(['date', 'number', 'quantity'])
const code = (text: string): string => `\`${text}\``

export const searchTable = (): string =>
  [
    row(['Type of parameter', 'Modifiers', 'Prefixes']),
    row(['---', '---', '---']),
    ...Object.entries(MODIFIERS).map(([type, modifiers]) =>
      row([
        type,
        modifiers.map((one) => code(`:${one}`)).join(' '),
        PREFIXED.has(type) ? PREFIXES.map(code).join(' ') : '',
      ]),
    ),
    '',
    `On every type: ${GENERAL.map(code).join(', ')}, \`_tag\`, \`_profile\`, \`_security\`, \`_source\`; chains such as \`subject:Patient.name\`.`,
    '',
    `Of the result: ${RESULT_PARAMETERS.map(code).join(', ')}.`,
    '',
    `Refused with 400: ${Object.keys(UNSUPPORTED).map(code).join(', ')}, and whatever is not known.`,
  ].join('\n')
