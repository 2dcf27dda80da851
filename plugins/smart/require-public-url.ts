/** The issuer must be a URL that does not depend on the request. Spec: Authentication 3. */
import { PublicUrlMissing } from './errors.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+$/

/** Throws `PublicUrlMissing` when the server listens at an address that others can reach, but has no `public_url`. */
export const requirePublicUrl = ({
  bind,
  public_url,
}: {
  readonly bind: string
  readonly public_url?: string
}): void => {
  if (public_url === undefined && !LOOPBACK.test(bind)) throw PublicUrlMissing(bind)
}
