/** The patient of a RelatedPerson: a user who is that RelatedPerson may see only this patient's record. */
import { isServerError } from '../../../kernel/index.ts'
import type { Resources } from '../../fhir/service.ts'

const LOCAL = /^Patient\/([A-Za-z0-9.-]{1,64})$/

/**
 * The id of the Patient, for `Caller.relatedTo`. Undefined when the RelatedPerson does not exist or is inactive, or
 * when its patient is not on this server.
 */
export const boundPatient = async (resources: Resources, relatedPerson: string): Promise<string | undefined> => {
  const [type, id = ''] = relatedPerson.split('/')
  if (type !== 'RelatedPerson') return undefined
  try {
    const person = await resources.as({ kind: 'internal', purpose: 'scopes' }).read(type, id)
    const { active, patient } = person.parse() as { active?: unknown; patient?: { reference?: unknown } }
    const reference = patient?.reference
    if (active === false || typeof reference !== 'string') return undefined
    return LOCAL.exec(reference)?.[1]
  } catch (error) {
    if (isServerError(error) && error.status < 500) return undefined
    throw error
  }
}
