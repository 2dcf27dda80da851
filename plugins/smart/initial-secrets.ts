/**
 * The initial access token and the secret of the built-in client. One that is not in the settings is generated at each
 * start. Spec: Authentication 4 and 5.
 */
import { hashOf, newSecret } from './secret.ts'

export interface InitialSecrets {
  readonly dcrToken: Buffer
  readonly confidentialSecret: Buffer
  /** Lines with the generated secrets, to be written to a terminal only; empty when both are in the settings. */
  readonly terminalLines: readonly string[]
}

export const createInitialSecrets = (given: {
  readonly dcr_token?: string
  readonly confidential_secret?: string
}): InitialSecrets => {
  const { dcr_token: dcrToken = newSecret(), confidential_secret: secret = newSecret() } = given
  const until = 'until the next start'
  return {
    dcrToken: hashOf(dcrToken),
    confidentialSecret: hashOf(secret),
    terminalLines: [
      ...(given.dcr_token === undefined ? [`SERVER_SMART_DCR_TOKEN (${until}): ${dcrToken}`] : []),
      ...(given.confidential_secret === undefined ? [`SERVER_SMART_CONFIDENTIAL_SECRET (${until}): ${secret}`] : []),
    ],
  }
}
