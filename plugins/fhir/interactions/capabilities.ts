/**
 * capabilities: the whole capability statement, the one of normative types, or the terminology capabilities.
 * https://hl7.org/fhir/R4/http.html#capabilities
 */

import { QueryParameterValue } from '../../search/service.ts'
import { type CapabilityStatementParts, toCapabilityStatement } from '../capability.ts'
import { checkAccept } from '../http/media.ts'
import { isTransformed, present } from '../presentation/present.ts'
import { readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import { type TerminologyCapabilitiesParts, toTerminologyCapabilities } from '../terminology-capabilities.ts'
import type { Answer } from './answer.ts'
import { presentationOf } from './presentation-of.ts'
import type { InteractionRequest } from './request.ts'

const MODES = ['full', 'normative', 'terminology'] as const
type Mode = (typeof MODES)[number]

const readMode = (mode = 'full'): Mode => {
  if (!MODES.includes(mode as Mode)) throw QueryParameterValue('mode', 'full, normative or terminology')
  return mode as Mode
}

/** Throws 400, 406. */
export type Capabilities = (request: Pick<InteractionRequest, 'ctx' | 'headers' | 'url'>) => Promise<Answer>

export const createCapabilities =
  (parts: CapabilityStatementParts & TerminologyCapabilitiesParts): Capabilities =>
  async ({ ctx, headers, url }) => {
    const { lenient } = readPrefer(headers.prefer)
    const { presentation, values } = readQueryParameters(url, ['mode'], lenient)
    const mode = readMode(values.get('mode'))
    checkAccept(headers.accept, presentation.format)
    const statement =
      mode === 'terminology'
        ? await toTerminologyCapabilities(parts, ctx)
        : toCapabilityStatement(parts, ctx, mode === 'normative')
    const type = parts.catalog.types.get(mode === 'terminology' ? 'TerminologyCapabilities' : 'CapabilityStatement')
    const text = JSON.stringify(statement, null, type === undefined && presentation.pretty ? 2 : undefined)
    if (type === undefined || !isTransformed(presentation)) return { status: 200, shows: 'text', text }
    return { status: 200, shows: 'text', text: present(text, type, presentationOf(presentation, type, lenient)) }
  }
