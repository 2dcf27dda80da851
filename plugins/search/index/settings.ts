/** Settings that are made once for each database. */
import type { Random } from '../../../kernel/index.ts'
import { type AloneOptions, type Database, whenStored } from '../../database/service.ts'
import { insertSetting, readSearchSettings } from './tables.ts'

/** How a server that only reads waits for the one that writes. */
export type Waiting = Pick<AloneOptions, 'signal' | 'onWait'>

/** The seed of the hashes and the secret for page tokens. The first start of the database makes them. */
export const openSettings = async (
  database: Database,
  random: Random,
  waiting: Waiting,
): Promise<{ seed: number; key: string }> => {
  const read = async (): Promise<Map<string, string>> =>
    new Map(
      (await database.all<{ name: string; value: string }>(readSearchSettings, [])).map(({ name, value }) => [
        name,
        value,
      ]),
    )
  const readWhole = async (): Promise<Map<string, string> | undefined> => {
    const found = await read()
    return found.has('key') ? found : undefined
  }
  let settings = database.isReader ? await whenStored(waiting.signal, readWhole, waiting.onWait) : await read()
  if (!settings.has('key')) {
    await database.transact(async (transaction) => {
      await transaction.run(insertSetting, ['seed', String(Number.parseInt(random.id().slice(0, 8), 16) | 0)])
      await transaction.run(insertSetting, ['key', `${random.id()}${random.id()}`])
    })
    settings = await read()
  }
  return { seed: Number(settings.get('seed')), key: settings.get('key') as string }
}
