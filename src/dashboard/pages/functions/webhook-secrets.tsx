import type { Answer } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { OneTimeSecret } from '#dashboard/components/one-time-secret'
import { observable, useObservable } from '#dashboard/components/use-observable'

/** A secret that the server made for a webhook when the function was saved. */
interface MadeSecret {
  readonly functionId: string
  readonly node: string
  readonly secret: string
}

/** Outlives the page, because creating a function opens another page. */
const madeSecrets = observable<readonly MadeSecret[]>([])

/** Keeps the secrets of the answer to a save, and returns the answer without secrets, as later reads return it. */
export function withSecretsKept<Saved extends Answer<'POST /functions'> | { readonly resourceIdentifier: string }>(
  saved: Saved,
): Saved {
  if (!('graph' in saved)) return saved
  const functionId = idOf(saved.resourceIdentifier)
  const made: MadeSecret[] = []
  const nodes = saved.graph.nodes.map((node) => {
    if (node.type !== 'webhook' || node.secret === undefined) return node
    const { secret, ...rest } = node
    made.push({ functionId, node: node.id, secret })
    return rest
  })
  madeSecrets.set([...madeSecrets.value, ...made])
  return { ...saved, graph: { ...saved.graph, nodes } }
}

export function WebhookSecrets({ functionId }: { readonly functionId: string }) {
  const made = useObservable(madeSecrets)
  return made
    .filter((each) => each.functionId === functionId)
    .map((each) => (
      <OneTimeSecret
        key={each.secret}
        title={`The secret of ${each.node}`}
        secret={each.secret}
        label="Copy the secret"
        onDismiss={() => madeSecrets.set(madeSecrets.value.filter((other) => other !== each))}
      >
        <p>The receiver needs it to check the signature of each call, as Standard Webhooks describes it.</p>
      </OneTimeSecret>
    ))
}
