import { z } from 'zod'

/** What access is given on. Contract 2. */
export const resources = [
  'service',
  'device',
  'schemas',
  'meta',
  'alarms',
  'notifications',
  'functions',
  'updates',
  'users',
  'roles',
  'tenants',
  'health',
] as const
export type Resource = (typeof resources)[number]

export const actions = ['create', 'read', 'update', 'delete'] as const
export type Action = (typeof actions)[number]

/** A grant: its permissions reach only its own devices and services. `*` stands for any. Contract 2, Model. */
export const Grant = z.strictObject({
  permissions: z.record(z.union([z.enum(resources), z.literal('*')]), z.array(z.union([z.enum(actions), z.literal('*')]))),
  devices: z.array(z.string()),
  services: z.array(z.string()),
})
export type Grant = z.infer<typeof Grant>
