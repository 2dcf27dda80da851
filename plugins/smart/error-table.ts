/** All errors of this plugin. */
import * as errors from './errors.ts'
import * as oauthErrors from './oauth-errors.ts'
import * as scopeErrors from './scopes/errors.ts'
import * as pageErrors from './web/page-errors.ts'

const { oauthCodeOf: _, ...ofOAuth } = oauthErrors
const { reasonOf: __, ...ofPages } = pageErrors

export const errorTable = { ...errors, ...ofOAuth, ...scopeErrors, ...ofPages }
