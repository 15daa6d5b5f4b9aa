import { open, type Random, seal } from '#access/file-keys'
import type { FunctionBody, StoredFunction, StoredWebhookSecret } from '#model/function'
import type { Graph, GraphNode } from '#model/graph'
import { newWebhookSecret } from '#model/webhook'

/** The function that a secret belongs to. */
interface Owner {
  readonly tenant: string
  readonly function: string
}

/** The body of a function without the secrets of its webhooks, and these secrets, sealed. */
export interface SealedBody {
  readonly body: FunctionBody
  readonly secrets: readonly StoredWebhookSecret[] | undefined
  /** The new secrets that the server made, by node: the answer shows them once. */
  readonly made: ReadonlyMap<string, string>
}

/**
 * Seals secrets of webhooks. They are stored apart from the graph, so that no read of a function contains them.
 * Contract 12.
 */
export class WebhookSecrets {
  readonly #key: () => Uint8Array | undefined
  readonly #random: Random

  /** `key` returns the seal key. Undefined while authentication is off: then secrets are sealed with `openKey`. */
  constructor(key: () => Uint8Array | undefined, random: Random) {
    this.#key = key
    this.#random = random
  }

  /**
   * Takes the secrets out of the body. A node without a secret in `body` keeps its stored secret. If it has none that
   * can be read, it gets a new secret.
   */
  seal(owner: Owner, body: FunctionBody, before?: StoredFunction): SealedBody {
    const made = new Map<string, string>()
    const secrets = body.graph.nodes.flatMap((node): StoredWebhookSecret[] => {
      if (node.type !== 'webhook') return []
      const kept = before?.secrets?.find((secret) => secret.node === node.id)
      const known = before && this.open(owner, before, node.id)
      if (kept && known !== undefined && (node.secret ?? known) === known) return [kept]
      const text = node.secret ?? newWebhookSecret(this.#random)
      if (node.secret === undefined) made.set(node.id, text)
      const key = this.#key() ?? openKey
      return [{ node: node.id, sealed: seal(key, Buffer.from(text), contextOf(owner, node.id), this.#random) }]
    })
    const nodes = body.graph.nodes.map(withoutSecret)
    return {
      body: { ...body, graph: { ...body.graph, nodes } },
      secrets: secrets.length > 0 ? secrets : undefined,
      made,
    }
  }

  /** The secret of a webhook. Undefined if the node has none, or if the secret was sealed with another key. */
  open(owner: Owner, { secrets = [] }: StoredFunction, node: string): string | undefined {
    const stored = secrets.find((secret) => secret.node === node)
    if (!stored) return undefined
    // The secret may have been sealed while authentication was off.
    const keys = [this.#key() ?? openKey, openKey]
    const [text] = keys.flatMap((key) => open(key, stored.sealed, contextOf(owner, node)) ?? [])
    return text && Buffer.from(text).toString()
  }
}

/** Replaces the seal key while authentication is off. It is known, so it protects nothing. */
const openKey = new Uint8Array(32)

function contextOf(owner: Owner, node: string): string {
  return `webhook/${owner.tenant}/${owner.function}/${node}`
}

function withoutSecret(node: GraphNode): GraphNode {
  if (node.type !== 'webhook') return node
  const { secret: _, ...shown } = node
  return shown
}

export function withMadeSecrets(graph: Graph, made: SealedBody['made']): Graph {
  const nodes = graph.nodes.map((node) => {
    const secret = made.get(node.id)
    return secret === undefined ? node : { ...node, secret }
  })
  return { ...graph, nodes }
}
