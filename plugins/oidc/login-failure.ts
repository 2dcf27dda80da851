/** Why a login cannot go on, inside this plugin. The reason is for the log: it quotes no claim, code or token. */
export class LoginFailure extends Error {
  readonly kind: 'refused' | 'unavailable'

  constructor(kind: LoginFailure['kind'], reason: string) {
    super(reason)
    this.name = 'LoginFailure'
    this.kind = kind
  }
}
