/** Reads the Questionnaire of a response that is checked, as far as the caller may read it. */
import { extentOf, isServerError, type RequestContext } from '../../../kernel/index.ts'
import type { Resources, SessionReads } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import { QuestionnaireUnknown } from '../errors.ts'
import { questionnaireOf } from '../operations/questionnaire-of.ts'
import type { Json } from '../questionnaire/json.ts'

const PURPOSE = 'forms'

export interface ReadQuestionnaireParts {
  readonly resources: () => Resources
  readonly definitions: Pick<Definitions, 'find'>
}

/** Undefined where it is not contained, not stored, not of a package, or not for this caller to read. */
export type ReadQuestionnaire = (response: Json, request: RequestContext | undefined) => Promise<Json | undefined>

/** Nothing is visible. */
const CLOSED: Pick<SessionReads, 'search' | 'read'> = {
  search: async () => ({ matches: [], included: [], total: 0, next: undefined, issues: [] }),
  read: async (_type, id) => {
    throw QuestionnaireUnknown(id)
  },
}

export const createReadQuestionnaire = ({ resources, definitions }: ReadQuestionnaireParts): ReadQuestionnaire => {
  /**
   * A Questionnaire is a definition and is shown to nobody here, so a caller who may read all of them is no reader in the audit
   * trail. Where the caller may read some only, those are searched in its name.
   */
  const readsOf = async (
    request: RequestContext | undefined,
  ): Promise<Pick<SessionReads, 'search' | 'read'> | undefined> => {
    const internal = resources().as({ kind: 'internal', purpose: PURPOSE })
    if (request === undefined) return undefined
    if (request.caller.kind === 'internal') return internal
    try {
      const restrictions = await resources().as(request).ruling('Questionnaire', { isAsked: false })
      if (restrictions.length === 0) return internal
      if (restrictions.some((one) => extentOf(one, 'Questionnaire', 'r') === 'none')) return undefined
      const { caller, baseUrl } = request
      return resources().as({ kind: 'stored', caller, restrictions, purpose: PURPOSE, baseUrl })
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  return async (response, request) => {
    const data = await readsOf(request)
    return questionnaireOf({ data: data ?? CLOSED, definitions }, response, request?.ownUrl)
  }
}
