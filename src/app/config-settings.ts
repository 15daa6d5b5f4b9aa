import {
  accountName,
  allowedReceiver,
  baseUrl,
  cronPattern,
  listOf,
  mailFrom,
  matching,
  natsUrl,
  oneOf,
  onOrOff,
  portOrOff,
  type SettingKind,
  smtpUrl,
  webOrigin,
  wholeNumber,
} from '#app/config-kinds'

/** One setting: its name in the environment, its values, its default and its purpose. */
export interface Setting<T = unknown> {
  readonly name: string
  readonly kind: SettingKind<T>
  /** The default, as text in the environment. Without a default, a setting that is not given is `undefined`. */
  readonly fallback?: string
  /** Never printed. */
  readonly isSecret?: boolean
  readonly about: string
}

const mebibyte = 1024 * 1024
const second = 1000
const hour = 3600 * second
const day = 24 * hour

const token = matching(/^[!-~]{1,1024}$/, '1 to 1024 printable ASCII characters without spaces')

/** Every setting by its name in `Config`, in the order of `--help`. */
export const settings = {
  port: {
    name: 'PORT',
    kind: wholeNumber(0, 65_535),
    fallback: '8080',
    about: 'The port to listen on; 0 takes any free port.',
  },
  host: {
    name: 'HOST',
    kind: matching(/^[A-Za-z0-9.:_-]{1,253}$/, 'an address or host name'),
    fallback: '127.0.0.1',
    about: 'The address to listen on; 0.0.0.0 is all addresses. The default is reachable from this machine only.',
  },
  dataDirectory: {
    name: 'DATA_DIR',
    kind: matching(/^[^\0]+$/, 'a path'),
    fallback: './data',
    about: 'The folder for all stored data. Only one process at a time can use it.',
  },
  storageHeadroomBytes: {
    name: 'STORAGE_HEADROOM_MB',
    kind: wholeNumber(0, 65_536, 'MiB', mebibyte),
    fallback: '64',
    about: 'Size of a reserve file, deleted on a full disk so that the database can be reopened; 0 = none.',
  },
  durability: {
    name: 'DURABILITY',
    kind: oneOf('process', 'disk'),
    fallback: 'process',
    about:
      'Acknowledged changes survive a crash of the process; with disk, also one of the machine (fsync for each commit).',
  },
  streamRetentionBytes: {
    name: 'STREAM_RETENTION_MB',
    kind: wholeNumber(1, 1_048_576, 'MiB', mebibyte),
    fallback: '1024',
    about: 'How much of the event stream each tenant keeps, so that clients can resume.',
  },
  streamRetentionMs: {
    name: 'STREAM_RETENTION_HOURS',
    kind: wholeNumber(1, 8_760, 'h', hour),
    fallback: '24',
    about: 'How long the event stream is kept.',
  },
  isHistoryOn: {
    name: 'HISTORY',
    kind: onOrOff,
    fallback: 'on',
    about: 'Keep every reported value, in <DATA_DIR>/history.',
  },
  historyRawMs: {
    name: 'HISTORY_RAW_DAYS',
    kind: wholeNumber(1, 3_650, 'days', day),
    fallback: '30',
    about: 'How long the history keeps every single value.',
  },
  historyHourlyMs: {
    name: 'HISTORY_HOURLY_DAYS',
    kind: wholeNumber(1, 36_500, 'days', day),
    fallback: '730',
    about: 'How long the history keeps values by hour. Values by day are kept for ever.',
  },
  historyBytesMax: {
    name: 'HISTORY_BYTES_MAX',
    kind: wholeNumber(67_108_864, 999_999_999_999_999, 'bytes'),
    about: 'Disk space for the history: above it, the oldest values are deleted. No limit if it is not set.',
  },
  isIamOn: {
    name: 'IAM',
    kind: onOrOff,
    fallback: 'on',
    about: 'Identity and access management. Off: no authentication, and anyone who reaches the port may do everything.',
  },
  adminName: {
    name: 'ADMIN_NAME',
    kind: accountName,
    about: 'The first administrator, created if no account has this name. Needs ADMIN_PASSWORD.',
  },
  adminPassword: {
    name: 'ADMIN_PASSWORD',
    kind: matching(/^.{10,256}$/su, '10 to 256 characters'),
    isSecret: true,
    about: "The first administrator's password. An existing account is never changed.",
  },
  publicUrls: {
    name: 'PUBLIC_URL',
    kind: listOf(
      baseUrl(['http:', 'https:'], ''),
      'addresses such as https://devices.example.com/prefix, separated by commas',
    ),
    fallback: '',
    about: 'Addresses by which clients reach this server from outside. Links and tokens contain the first one.',
  },
  isProxyTrusted: {
    name: 'TRUST_PROXY',
    kind: onOrOff,
    fallback: 'off',
    about: 'Trust X-Forwarded-For, -Proto and -Host. Only behind a proxy that sets them itself.',
  },
  corsOrigins: {
    name: 'CORS_ORIGINS',
    kind: listOf(webOrigin, 'origins such as https://app.example.com, separated by commas; no path, no *, no null'),
    fallback: '',
    about: "Origins whose pages may call the API, in addition to the server's own.",
  },
  areRateLimitsOn: {
    name: 'RATE_LIMITS',
    kind: onOrOff,
    fallback: 'on',
    about: 'Slow down clients that fail to sign in repeatedly.',
  },
  tokenLifetimeMs: {
    name: 'TOKEN_LIFETIME_S',
    kind: wholeNumber(1, 86_400, 's', second),
    fallback: '3600',
    about: 'Lifetime of access tokens of the Basic scheme.',
  },
  accessTokenLifetimeMs: {
    name: 'ACCESS_TOKEN_LIFETIME_S',
    kind: wholeNumber(1, 86_400, 's', second),
    fallback: '600',
    about: 'Lifetime of access tokens of the DPoP scheme.',
  },
  refreshTokenLifetimeMs: {
    name: 'REFRESH_TOKEN_LIFETIME_S',
    kind: wholeNumber(1, 31_536_000, 's', second),
    fallback: '28800',
    about: 'Lifetime of refresh tokens, which are rotated on every use.',
  },
  ticketLifetimeMs: {
    name: 'TICKET_LIFETIME_S',
    kind: wholeNumber(1, 300, 's', second),
    fallback: '30',
    about: 'Lifetime of tickets for the event websocket. Each ticket is valid once.',
  },
  socketsPerUserMax: {
    name: 'SOCKETS_PER_USER_MAX',
    kind: wholeNumber(1, 100_000),
    fallback: '1000',
    about: 'Open event sockets of one user or API key. A tenant may have a hundred times this number.',
  },
  bodyBytesMax: {
    name: 'BODY_BYTES_MAX',
    kind: wholeNumber(1_024, 64 * mebibyte, 'bytes'),
    fallback: String(mebibyte),
    about: 'The largest request body. Bodies are held in memory.',
  },
  mqttPort: {
    name: 'MQTT_PORT',
    kind: portOrOff,
    about: 'The port for MQTT. Default: 1883, if it is free; a port that is set must be free. Off: no MQTT.',
  },
  mqttTlsPort: {
    name: 'MQTT_TLS_PORT',
    kind: wholeNumber(0, 65_535),
    about: 'The port for MQTT with TLS, if there is a certificate. Default: 8883, if it is free.',
  },
  hasMqttFreeTopics: {
    name: 'MQTT_FREE_TOPICS',
    kind: onOrOff,
    fallback: 'off',
    about: 'An MQTT broker for all topics outside v1/, in memory.',
  },
  tlsCertificate: {
    name: 'TLS_CERT',
    kind: matching(/^[^\0]+$/, 'a path'),
    about: 'File with the certificate and its chain in PEM, for MQTT with TLS. Needs TLS_KEY.',
  },
  tlsKey: {
    name: 'TLS_KEY',
    kind: matching(/^[^\0]+$/, 'a path'),
    about: 'File with the private key in PEM. Needs TLS_CERT.',
  },
  linkFrameBytesMax: {
    name: 'LINK_FRAME_BYTES_MAX',
    kind: wholeNumber(1_024, 16 * mebibyte, 'bytes'),
    fallback: String(256 * 1024),
    about: 'The largest message of a device. Messages are held in memory.',
  },
  deviceBytesMax: {
    name: 'DEVICE_BYTES_MAX',
    kind: wholeNumber(16_384, 64 * mebibyte, 'bytes'),
    fallback: String(4 * mebibyte),
    about: 'The memory that the state of one device may take: values, errors, declaration and metadata.',
  },
  tenantBytesMax: {
    name: 'TENANT_BYTES_MAX',
    kind: wholeNumber(mebibyte, mebibyte * mebibyte, 'bytes'),
    about: "The memory that all devices of a tenant may take together. Default: half of the limit of Node's heap.",
  },
  imageBytesMax: {
    name: 'IMAGE_BYTES_MAX',
    kind: wholeNumber(1_024, 4096 * mebibyte, 'bytes'),
    fallback: String(256 * mebibyte),
    about: 'The largest firmware image. Images are written to disk as they arrive.',
  },
  writeTimeoutMs: {
    name: 'WRITE_TIMEOUT_S',
    kind: wholeNumber(1, 300, 's', second),
    fallback: '10',
    about: 'How long a property write waits for its device.',
  },
  updateOfferTimeoutMs: {
    name: 'UPDATE_OFFER_TIMEOUT_S',
    kind: wholeNumber(1, 300, 's', second),
    fallback: '10',
    about: 'How long a firmware offer waits for its device.',
  },
  updateServerUrl: {
    name: 'UPDATE_SERVER_URL',
    kind: baseUrl(['http:', 'https:'], 'an address such as https://updates.example.com'),
    about: 'Your own update server. Without it the embedded one is used.',
  },
  updateServerToken: {
    name: 'UPDATE_SERVER_TOKEN',
    kind: token,
    isSecret: true,
    about: 'Bearer token for requests to UPDATE_SERVER_URL.',
  },
  updateHookSecret: {
    name: 'UPDATE_HOOK_SECRET',
    kind: token,
    isSecret: true,
    about: 'Key that signs calls to the update hook. Without it, callers need the permission "update" on "updates".',
  },
  autoUpdate: {
    name: 'AUTO_UPDATE',
    kind: cronPattern,
    about: 'Schedule, in UTC, for offering new firmware to devices. Without it there is no schedule.',
  },
  isConnectUpdateDisabled: {
    name: 'DISABLE_CONNECT_UPDATE',
    kind: onOrOff,
    fallback: 'off',
    about: 'Do not offer firmware to a device when it connects.',
  },
  isHookForPinsOnly: {
    name: 'HOOK_PINS_ONLY',
    kind: onOrOff,
    fallback: 'off',
    about: 'The update hook and rollouts reach only devices with a pinned firmware.',
  },
  smtpUrl: {
    name: 'SMTP_URL',
    kind: smtpUrl,
    isSecret: true,
    about: 'The mail server; port 587 for smtp, 465 for smtps. Without it mails are .eml files in <DATA_DIR>/outbox.',
  },
  mailFrom: {
    name: 'MAIL_FROM',
    kind: mailFrom,
    fallback: 'device-data-backend@localhost',
    about: 'Sender of mails.',
  },
  mailsPerHourMax: {
    name: 'MAILS_PER_HOUR_MAX',
    kind: wholeNumber(1, 100_000),
    fallback: '60',
    about: 'Mails per hour to one subscriber. Further mails are combined into one digest.',
  },
  webhookAllow: {
    name: 'WEBHOOK_ALLOW',
    kind: listOf(allowedReceiver, 'hosts, addresses or networks such as 10.0.0.0/8, separated by commas'),
    fallback: '',
    about: 'Webhooks may go to these receivers although they are private or have no TLS. Default: only public https.',
  },
  natsUrls: {
    name: 'NATS_URL',
    kind: listOf(natsUrl, 'addresses such as nats://nats-1.example.com:4222, separated by commas'),
    fallback: '',
    isSecret: true,
    about:
      'Servers of NATS JetStream, 2.11 or later. With it, this process is a node of a cluster; without it, a single server.',
  },
  cluster: {
    name: 'CLUSTER',
    kind: matching(/^[A-Za-z0-9_-]{1,32}$/, '1 to 32 letters, digits, _ and -'),
    fallback: 'devices',
    about: 'Name of the cluster: nodes with the same name share their data.',
  },
  nodeName: {
    name: 'NODE_NAME',
    kind: matching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}$/, '1 to 63 letters, digits, ., _ and -'),
    about: 'Name of this node, different on each node. Default: the name of the host.',
  },
  nodeUrl: {
    name: 'NODE_URL',
    kind: baseUrl(['http:', 'https:'], 'an address such as http://10.0.0.5:8080'),
    about: 'How other nodes reach this one. Needed with NATS_URL. They send credentials there: use a private network.',
  },
  natsReplicas: {
    name: 'NATS_REPLICAS',
    kind: wholeNumber(1, 5),
    fallback: '3',
    about: 'How many NATS servers store each change; 1 is for trying it out.',
  },
  natsCredentials: {
    name: 'NATS_CREDS',
    kind: matching(/^[^\0]+$/, 'a path'),
    about: 'File with the credentials for NATS: in the format of NATS, or one line user:password.',
  },
  natsSystemCredentials: {
    name: 'NATS_SYS_CREDS',
    kind: matching(/^[^\0]+$/, 'a path'),
    about: 'File with the credentials of a NATS system account. Needed for DURABILITY=disk, to check the servers.',
  },
  metricsToken: {
    name: 'METRICS_TOKEN',
    kind: token,
    isSecret: true,
    about: 'Bearer token for /metrics. Without it only the loopback address may read them.',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    kind: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    fallback: 'info',
    about: 'The lowest level that is logged.',
  },
  isAuditLogged: {
    name: 'AUDIT_LOG',
    kind: onOrOff,
    fallback: 'off',
    about: 'Also writes each entry of the audit to the log, at level info.',
  },
} satisfies Readonly<Record<string, Setting>>
