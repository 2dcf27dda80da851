/** What a 403 because of scopes says in `WWW-Authenticate`. RFC 6750, section 3.1 */
export const CHALLENGE = 'Bearer error="insufficient_scope"'
