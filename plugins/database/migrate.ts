/** Applies what is pending, all of it in one transaction. Spec: Versioning 4. */
import type { MikroORM } from '@mikro-orm/core'

/** Runs the pending migrations and records release and build beside them, in the same transaction. */
export const applyMigrations = async (
  orm: MikroORM,
  pins: Readonly<Record<string, string>>,
): Promise<readonly string[]> =>
  orm.em.transactional(async (em) => {
    const transaction = em.getTransactionContext()
    const applied = await orm.getMigrator().up({ transaction: transaction as any })
    const connection = em.getConnection()
    for (const [name, value] of Object.entries(pins))
      await (connection as any).execute(
        'INSERT INTO database_pin (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [name, value],
        'run',
        transaction,
      )
    return applied.map(({ name }) => name)
  })
