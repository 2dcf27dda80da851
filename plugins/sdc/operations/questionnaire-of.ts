/** The Questionnaire of a QuestionnaireResponse: contained, or found by its canonical as the caller. */
import { isServerError, type OwnUrl } from '../../../kernel/index.ts'
import type { SessionReads } from '../../fhir/service.ts'
import { isOwnBase, readLiteral } from '../../model/service.ts'
import { containedIn } from '../questionnaire/items.ts'
import type { Json } from '../questionnaire/json.ts'
import { findQuestionnaire, type QuestionnaireSources } from './find-questionnaire.ts'

export interface ResponseSources extends QuestionnaireSources {
  readonly data: Pick<SessionReads, 'search' | 'read'>
}

export const questionnaireOf = async (
  sources: ResponseSources,
  response: Json,
  ownUrl: OwnUrl | undefined,
): Promise<Json | undefined> => {
  const { questionnaire } = response
  if (typeof questionnaire !== 'string') return undefined
  if (questionnaire.startsWith('#')) {
    const contained = containedIn(response, questionnaire)
    return contained?.resourceType === 'Questionnaire' ? contained : undefined
  }
  const found = await findQuestionnaire(sources, questionnaire)
  if (found !== undefined) return found
  // A canonical may also be the address of the Questionnaire on this server.
  const literal = readLiteral(questionnaire.split('|')[0] as string)
  if (literal?.type !== 'Questionnaire' || !isOwnBase(literal.base, ownUrl)) return undefined
  try {
    return (await sources.data.read('Questionnaire', literal.id)).parse()
  } catch (error) {
    if (isServerError(error) && [403, 404, 410].includes(error.status)) return undefined
    throw error
  }
}
