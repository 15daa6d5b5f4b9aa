import { type Command, InvalidArgumentError } from 'commander'
import type { Connection } from '#cli/connection'
import type { Printer } from '#cli/printer'

/** The input of commands that use the API. */
export interface CommandContext extends Omit<Connection, 'close'> {
  /** The tenant of the users, roles, keys and sessions. Default: the tenant of the caller. */
  readonly query: { readonly tenant?: string }
  readonly printer: Printer
}

/**
 * Converts a command to an action of commander: connects, runs the command with its arguments and options, and always
 * closes the connection.
 */
export type CommandAction<Context = CommandContext> = <A extends readonly unknown[]>(
  run: (context: Context, ...args: A) => Promise<void>,
) => (...args: unknown[]) => Promise<void>

/** Adds `--tenant` to a command for objects that belong to a tenant. */
export function addTenantOption(command: Command): Command {
  return command.option('--tenant <tenant>', 'another tenant than your own: needs permission on tenants')
}

/** Collects the values of a repeated option. `before` is false after the `--no-` form. */
export function collectValues(value: string, before: readonly string[] | false | undefined): readonly string[] {
  return [...(before || []), value]
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}
