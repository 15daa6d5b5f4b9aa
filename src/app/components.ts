/**
 * A part of the server that lives as long as the server. The list of components determines their order: `close` goes
 * from the last to the first, every other step from the first to the last.
 */
export interface Component {
  /** The store of a node that follows another node was read. Called before `open`, and again after each failure. */
  follow?(): unknown
  /** The components before this component are open, and the store can be written. A promise is awaited. */
  open?(): unknown
  /** The store was read again after a failed write; `isRewound`: the store holds less than was published. */
  reloaded?(isRewound: boolean): void
  /** The tenant is being deleted: no command may reach its actors any more. */
  tenantEnded?(tenant: string): void
  /** Starts no new work. Sockets are still open. */
  stop?(): void
  /** Sockets are closed. A promise is awaited. */
  close?(): unknown
}

export class Components implements Component {
  readonly #list: readonly Component[]
  #closing: Promise<void> | undefined
  /** True from the time at which all components were open. */
  isOpen = false

  constructor(list: readonly Component[]) {
    this.#list = list
  }

  /** Opens all components. Closes all of them if one of them fails. */
  async open(): Promise<void> {
    try {
      for (const component of this.#list) {
        await component.open?.()
      }
      this.isOpen = true
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async follow(): Promise<void> {
    for (const component of this.#list) await component.follow?.()
  }

  reloaded(isRewound: boolean): void {
    for (const component of this.#list) component.reloaded?.(isRewound)
  }

  tenantEnded(tenant: string): void {
    for (const component of this.#list) component.tenantEnded?.(tenant)
  }

  stop(): void {
    for (const component of this.#list) component.stop?.()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.stop()
    for (const component of this.#list.toReversed()) {
      await component.close?.()
    }
  }
}
