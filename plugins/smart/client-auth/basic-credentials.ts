/** Client credentials in the header `Authorization: Basic`. RFC 6749, section 2.3.1; RFC 7617. */
import { decodeFormText } from '../decode-form-text.ts'

export interface Credentials {
  readonly id: string
  readonly secret: string
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * The credentials that the header may stand for, the likelier ones first. RFC 6749 form-encodes id and secret, but some
 * clients do not, among them the usual SMART library. So the decoded ones come first, then the raw ones where they
 * differ. Empty when the header is not a valid Basic header.
 */
export const readBasic = (header: string): readonly Credentials[] => {
  const encoded = /^Basic +(\S+)$/i.exec(header)?.[1]
  if (encoded === undefined || !BASE64.test(encoded)) return []
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1 || colon === text.length - 1 || /\p{Cc}|\ufffd/u.test(text)) return []
  const raw = { id: text.slice(0, colon), secret: text.slice(colon + 1) }
  const decoded = { id: decodeFormText(raw.id), secret: decodeFormText(raw.secret) }
  const isSame = decoded.id === raw.id && decoded.secret === raw.secret
  return decoded.id === undefined || decoded.secret === undefined || isSame ? [raw] : [decoded as Credentials, raw]
}
