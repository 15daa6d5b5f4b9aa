import { type Command, InvalidArgumentError } from 'commander'
import type { Printer } from '#cli/printer'
import type { Client } from '#client/client'

/** What a verb works with. */
export interface Work {
  readonly client: Client
  /** Whose users, roles, keys and sessions are meant; nobody else's than those of who asks when it is absent. */
  readonly query: { readonly tenant?: string }
  readonly printer: Printer
}

/**
 * Makes of a verb what commander calls: first there is a connection, then the verb gets the arguments and the options, and
 * however it ends, the connection is closed.
 */
export type Acting = <A extends readonly unknown[]>(
  verb: (work: Work, ...given: A) => Promise<void>,
) => (...given: unknown[]) => Promise<void>

/** For what belongs to a tenant. */
export function takesTenant(command: Command): Command {
  return command.option('--tenant <tenant>', 'of another tenant than your own: needs the right on tenants')
}

/** An option that may be given several times, once with each value. `before`: false after its `--no-` form. */
export function collect(value: string, before: readonly string[] | false | undefined): readonly string[] {
  return [...(before || []), value]
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It takes a whole number.')
  return Number(text)
}
