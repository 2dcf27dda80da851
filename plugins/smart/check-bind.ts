/** What a server that others can reach needs: an issuer that does not depend on the request, and logins that check. */
import { DemoLoginRemote, PublicUrlMissing } from './errors.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+$/

/**
 * At an address that others can reach, throws `PublicUrlMissing` without `public_url`, and `DemoLoginRemote` for a demo
 * login that is not allowed there. Spec: Authentication 3 and 6.
 */
export const checkBind = (
  { bind, public_url: publicUrl }: { readonly bind: string; readonly public_url?: string },
  smart: { readonly demo_login: boolean; readonly allow_remote_demo_login: boolean },
): void => {
  if (LOOPBACK.test(bind)) return
  if (publicUrl === undefined) throw PublicUrlMissing(bind)
  if (smart.demo_login && !smart.allow_remote_demo_login) throw DemoLoginRemote(bind)
}
