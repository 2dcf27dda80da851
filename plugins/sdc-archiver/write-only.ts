/**
 * The restriction that every caller is under while the archiver is on. Deleting stays allowed to whoever may delete, because what
 * was archived by mistake, or has to be erased, must not need a server without the archiver.
 */
import { ALL, type Restriction } from '../../kernel/index.ts'

export const WRITE_ONLY: Restriction = {
  types: { QuestionnaireResponse: [{ rights: 'cud' }] },
  others: [ALL],
}
