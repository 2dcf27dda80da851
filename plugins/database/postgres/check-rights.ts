/** Checks the rights that a migration needs, before PostgreSQL refuses one of its statements. */
import { RightsMissing } from './errors.ts'
import type { Session } from './session.ts'

/**
 * Throws `RightsMissing` with the GRANT that is missing. Reads search_path too, because a schema without USAGE is not a
 * current_schema().
 */
export const checkRights = async (session: Session, database: string): Promise<void> => {
  const { rows } = await session.query<{ role: string; grantee: string; schema: string; allowed: boolean }>(
    `SELECT role, grantee, quote_ident(schema) AS schema,
            coalesce(has_schema_privilege(to_regnamespace(quote_ident(schema)), 'USAGE')
                 AND has_schema_privilege(to_regnamespace(quote_ident(schema)), 'CREATE'), false) AS allowed
       FROM (SELECT current_user::text AS role, quote_ident(current_user) AS grantee,
                    coalesce(current_schema()::text,
                             (SELECT nspname::text FROM pg_namespace
                               WHERE nspname = ANY (string_to_array(translate(current_setting('search_path'), ' "', ''), ','))
                               LIMIT 1),
                             'public') AS schema) AS named`,
  )
  const { role, grantee, schema, allowed } = rows[0]!
  if (!allowed) throw RightsMissing(role, schema, database, schema, grantee)
}
