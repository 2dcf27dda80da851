/**
 * MikroORM's driver for better-sqlite3, made of the SQLite parts of @mikro-orm/knex. The package @mikro-orm/better-sqlite depends
 * on one old version of better-sqlite3, and whoever installs this package would get that native module beside ours, compiled.
 */
import {
  CheckConstraintViolationException,
  type Configuration,
  ConnectionException,
  type Dictionary,
  type DriverException,
  ExceptionConverter,
  ForeignKeyConstraintViolationException,
  InvalidFieldNameException,
  LockWaitTimeoutException,
  NonUniqueFieldNameException,
  NotNullConstraintViolationException,
  ReadOnlyException,
  SyntaxErrorException,
  TableExistsException,
  TableNotFoundException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core'
import {
  AbstractSqlDriver,
  BaseSqliteConnection,
  BaseSqlitePlatform,
  BaseSqliteSchemaHelper,
  BetterSqliteKnexDialect,
} from '@mikro-orm/knex'
// @ts-expect-error The package has no types.
import sqlstring from 'sqlstring-sqlite'

const EXCEPTIONS: readonly (readonly [RegExp, new (previous: Error) => DriverException])[] = [
  [/database is locked/, LockWaitTimeoutException],
  [/UNIQUE constraint failed/, UniqueConstraintViolationException],
  [/NOT NULL constraint failed/, NotNullConstraintViolationException],
  [/CHECK constraint failed/, CheckConstraintViolationException],
  [/FOREIGN KEY constraint failed/, ForeignKeyConstraintViolationException],
  [/no such table:/, TableNotFoundException],
  [/already exists/, TableExistsException],
  [/no such column:/, InvalidFieldNameException],
  [/ambiguous column name/, NonUniqueFieldNameException],
  [/syntax error/, SyntaxErrorException],
  [/attempt to write a readonly database/, ReadOnlyException],
  [/unable to open database file/, ConnectionException],
]

class SqliteExceptions extends ExceptionConverter {
  override convertException(exception: Error & Dictionary): DriverException {
    const found = EXCEPTIONS.find(([message]) => message.test(exception.message))
    return found === undefined ? super.convertException(exception) : new found[1](exception)
  }
}

class SqliteSchemaHelper extends BaseSqliteSchemaHelper {}

class SqlitePlatform extends BaseSqlitePlatform {
  protected override readonly schemaHelper = new SqliteSchemaHelper(this)
  protected override readonly exceptionConverter = new SqliteExceptions()

  override escape(value: unknown): string {
    return sqlstring.escape(value, true, this.timezone)
  }
}

class SqliteConnection extends BaseSqliteConnection {
  override createKnex(): void {
    this.client = this.createKnexClient(BetterSqliteKnexDialect as never)
    this.connected = true
  }
}

export class SqliteDriver extends AbstractSqlDriver<SqliteConnection> {
  constructor(config: Configuration) {
    super(config, new SqlitePlatform(), SqliteConnection, ['knex', 'better-sqlite3'])
  }
}
