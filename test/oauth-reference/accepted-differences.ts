/**
 * Where this server and the reference are meant to answer differently: `point: about` of the probe → the reason. An entry
 * that no longer differs is reported, and leaves this list.
 */
const AUD = 'SMART App Launch requires aud, which OAuth does not know'
const MODE = 'SMART App Launch has no other response_mode than query'

export const ACCEPTED: Readonly<Record<string, string>> = {
  '16: response_mode fragment': MODE,
  '16: response_mode form_post': MODE,
  '20: no aud': AUD,
  '20: aud of another server': AUD,
  '22: nonce without openid': 'OAuth ignores parameters that it does not know, and no ID token is made',
  '25: id_token_hint that is none': 'id_token_hint is not supported, and parameters that are not supported are ignored',
  '26: no state': 'SMART App Launch requires state',
  '50: a secret in the body where Basic is registered': 'the method is the registered one; the library takes both',
  '54: assertion: exp an hour ahead': 'SMART App Launch allows five minutes',
  '70: assertion: no scope': 'SMART Backend Services require scope',
  '75: introspection of the token of another client': 'clients see their own tokens only',
  '76: revocation of an access token keeps the refresh token': 'RFC 7009 leaves it open, and ours ends the token alone',
  '79: registration: redirect http://new.example.org/cb': 'http is for loopback addresses only (RFC 9700)',
  '79: registration: redirect https://user@new.example.org/cb': 'a user in a redirect URI makes its host hard to read',
}
