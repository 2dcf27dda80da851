/** Launch values: an EHR makes one for an app that it opens, and the app sends it to the authorization endpoint. */
import type { Clock } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import { contextOf, type LaunchContext } from '../grants/launch-context.ts'
import { insertLaunch, takeLaunch } from '../login-tables.ts'
import { hashOf, newSecret } from '../secret.ts'

export const LAUNCH_SECONDS = 300 // from the click in the EHR to the request of the app

/** Stores a launch. `client` is the only one that may use it; undefined for any. Returns the value for the app. */
export const makeLaunch = async (
  transaction: Transaction,
  { client, context, now }: { client: string | undefined; context: LaunchContext; now: number },
): Promise<string> => {
  const launch = newSecret()
  await transaction.run(insertLaunch, [
    hashOf(launch),
    client ?? null,
    JSON.stringify(context),
    now + LAUNCH_SECONDS * 1000,
  ])
  return launch
}

/** The context of a launch, which cannot be used again. Undefined when it is unknown, expired, used, or not of this client. */
export const useLaunch = async (
  transaction: Transaction,
  { launch, client, clock }: { launch: string; client: string; clock: Clock },
): Promise<LaunchContext | undefined> => {
  const row = await transaction.get<{ context: string }>(takeLaunch, [hashOf(launch), client, clock.now()])
  return row === undefined ? undefined : contextOf(row.context)
}
