/**
 * The package keys of [conformance], and the credentials of an s3:// source. Spec: [conformance], SERVER_S3_* table.
 */
import { Type } from '../../kernel/index.ts'

export const packageConformance = Type.Object({
  package_registry: Type.String({
    default: 'https://packages.fhir.org',
    pattern: '^(https?://[^\\s]+|s3://[^\\s/]+(/[^\\s]*)?)$',
    allowed: 'an http or https URL, or s3://bucket/prefix',
    sample: 's3://fhir-packages/mirror',
    env: 'SERVER_PACKAGE_REGISTRY',
    description: 'Where packages are downloaded: a FHIR package registry, a mirror of one, or a bucket.',
  }),
  package_cache: Type.Optional(
    Type.String({
      minLength: 1,
      sample: '/var/cache/server/packages',
      env: 'SERVER_PACKAGE_CACHE',
      description:
        'On-disk package cache; when unset, package-cache next to the SQLite file, or .refhir/packages for an in-memory or postgres database.',
    }),
  ),
  packages: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    sample: ['hl7.fhir.us.core@6.1.0', './my-guide', './other-guide.tgz'],
    env: 'SERVER_PACKAGES',
    flag: 'package',
    description: 'Extra packages: a name@version, a directory or a .tgz path.',
  }),
  skip_default_packages: Type.Boolean({
    default: false,
    env: 'SERVER_SKIP_DEFAULT_PACKAGES',
    description:
      'Skips the default packages; the server then knows no resource types until packages adds some. Not for production.',
  }),
  s3_access_key_id: Type.Optional(
    Type.String({
      minLength: 1,
      env: 'SERVER_S3_ACCESS_KEY_ID',
      secret: true,
      fileForbidden: true,
      description:
        'Access key of an s3:// package_registry; when unset, the credentials the provider’s own variables and files give.',
    }),
  ),
  s3_secret_access_key: Type.Optional(
    Type.String({
      minLength: 1,
      env: 'SERVER_S3_SECRET_ACCESS_KEY',
      secret: true,
      fileForbidden: true,
      description: 'Secret key of an s3:// package_registry.',
    }),
  ),
  s3_session_token: Type.Optional(
    Type.String({
      minLength: 1,
      env: ['SERVER_S3_SESSION_TOKEN', 'AWS_SESSION_TOKEN'],
      secret: true,
      fileForbidden: true,
      description: 'Session token that belongs to temporary keys.',
    }),
  ),
  s3_endpoint: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s]+$',
      allowed: 'an http or https URL',
      sample: 'https://minio.example.org:9000',
      env: ['SERVER_S3_ENDPOINT', 'AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
      description: 'URL of an S3-compatible store; when unset, that of AWS in the region.',
    }),
  ),
  s3_region: Type.String({
    default: 'us-east-1',
    minLength: 1,
    env: ['SERVER_S3_REGION', 'AWS_REGION', 'AWS_DEFAULT_REGION'],
    description: 'Region, which is part of each request signature.',
  }),
})
