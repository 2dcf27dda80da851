/** `WWW-Authenticate` of a 403 for insufficient scopes. RFC 6750, section 3.1 */
export const CHALLENGE = 'Bearer error="insufficient_scope"'
