/** The issuer is a URL that does not depend on who asks. Spec: Authentication 3. */
import { PublicUrlMissing } from './errors.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+$/

/** Throws `PublicUrlMissing` for an address that others reach, without the URL that they reach it at. */
export const requirePublicUrl = ({
  bind,
  public_url,
}: {
  readonly bind: string
  readonly public_url?: string
}): void => {
  if (public_url === undefined && !LOOPBACK.test(bind)) throw PublicUrlMissing(bind)
}
