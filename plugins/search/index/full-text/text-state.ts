/** What the database says of the full-text index: for which setting it was filled, or how far it is. */
import { type Database, type MaybePromise, type Transaction, whenStored } from '../../../database/service.ts'
import { clearText, readTextSetting, writeTextSetting } from './text-tables.ts'

/** Indexes all texts, only narratives, or nothing. */
export type FullTextMode = 'all' | 'narrative' | 'none'

const MODE = 'words'
const PROGRESS = 'words-rid'
/** Version of the extraction of words. After an increase the next start indexes all resources again. */
const VERSION = 3

export const createTextState = (database: Database, mode: FullTextMode) => {
  /** The value of the setting when the index is complete. */
  const held = mode === 'none' ? mode : `${mode} ${VERSION}`
  /** Its value while the index is filled: no server takes an index for complete that another one has left half filled. */
  const filling = `${held} soon`
  let isComplete = false

  const setting = async (name: string): Promise<string | undefined> =>
    (await database.get<{ value: string }>(readTextSetting, [name]))?.value
  /** Publishes the change too, so that other servers look at once. */
  const record = (transaction: Transaction, value: string): MaybePromise<void> => {
    transaction.publish({ about: 'search-columns' })
    return transaction.run(writeTextSetting, [MODE, value])
  }
  const look = async (): Promise<boolean> => {
    isComplete = (await setting(MODE)) === held
    return isComplete
  }
  /** Filling begins at the first resource. `isEmptied`: existing rows are removed now; otherwise filling replaces them. */
  const beginAnew = (isEmptied: boolean): Promise<void> =>
    database.transact(async (transaction) => {
      if (isEmptied) await transaction.run(clearText, [])
      await transaction.run(writeTextSetting, [PROGRESS, '0'])
      await record(transaction, mode === 'none' ? held : filling)
    })
  return {
    get isComplete() {
      return isComplete
    },
    look,
    /** Waits until the server that writes has filled the index for this mode. */
    whenComplete: async (signal: AbortSignal | undefined): Promise<void> =>
      void (await whenStored(signal, async () => (await look()) || undefined)),
    /** Goes on with what an earlier process began for this mode, or begins anew. */
    async begin(): Promise<void> {
      const stored = await setting(MODE)
      if (stored !== filling || mode === 'none') await beginAnew(stored === undefined || mode === 'none')
    },
    async clear(): Promise<void> {
      isComplete = false
      await beginAnew(true)
    },
    /** Resource key up to which the index is filled. */
    reached: async (): Promise<number> => Number((await setting(PROGRESS)) ?? 0),
    /** `last` is undefined when nothing is left. */
    async advance(transaction: Transaction, last: number | undefined): Promise<void> {
      await transaction.run(writeTextSetting, [PROGRESS, String(last ?? 0)])
      if (last === undefined) await record(transaction, held)
    },
  }
}
