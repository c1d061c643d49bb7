"""Words that carry no evidence of their own, for the languages whose stems are known.

The lists do two jobs: the words are left out of the index, and they tell which language a text is in.
They are short on purpose; a frequent word that is missing here is weighted down by its document frequency.
"""

from __future__ import annotations

_ENGLISH = """
a about after again all also am an and any are aren't as at be because been before being below between both but by
can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further get
gets got had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his
how how's i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just let let's me more most much my
myself no nor not now of off on once one only or other our ours ourselves out over own really same shall she she'd
she'll she's should shouldn't so some such than that that's the their theirs them themselves then there there's
these they they'd they'll they're they've this those through to too under until up upon us very was wasn't we we'd
we'll we're we've were weren't what what's when when's where where's which while who who's whom whose why why's will
with won't would wouldn't yes you you'd you'll you're you've your yours yourself yourselves im ive dont didnt doesnt
cant wont thats whats youre lets oh hey hi okay ok yeah yep wow
"""
_GERMAN = """
aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein deine dem den der des dich die dies
diese dieser dir doch du durch ein eine einem einen einer eines er es für hat hatte habe haben ich ihm ihn ihr im in
ist ja kann kein keine man mein meine mich mir mit nach nicht noch nur ob oder ohne sein seine sich sie sind so über
um und uns unser unter vom von vor war waren was weil wenn wer wie wir wird wo wurde zu zum zur
"""
_FRENCH = """
ai as au aux avec ce ces cette dans de des du elle en est et était eu fait il ils je la le les leur lui ma mais me
mes moi mon ne nos notre nous on ont ou où par pas plus pour qu que quel quelle qui sa sans se ses son sont sur ta
te tes toi ton tu un une vos votre vous été être suis quand comment
"""
_SPANISH = """
a al como con cuando cuándo de del dónde donde el ella en era es esta está este esto fue ha han hay la las le les lo
los más me mi mis muy no nos o para pero por porque que qué quien quién se sin sobre son soy su sus también te tengo
tiene tu tus un una y ya yo él
"""
_ITALIAN = """
a ai al alla anche che chi ci come con da dal dalla dei del della delle di dove e è gli ha hanno ho i il in io la le
lo ma mi mia mio nel nella non o per perché più quando quello questa questo se si sono sono stato su suo tra tu un
una uno
"""
_PORTUGUESE = """
a ao aos as até com como da das de do dos e é ela ele em era essa esse esta está este eu foi já lhe mais mas me meu
minha muito na não nas no nos o os ou para pela pelo por porque quando que quem são se sem seu sua também tem um uma
você
"""
_DUTCH = """
aan als bij dat de deze die dit doen door een en er had heb hebben heeft het hij hoe ik in is je kan maar me met
mijn naar niet nog nu of om omdat ook op over te tot uit van veel voor waar was wat we wel wie wij worden wordt zal
ze zich zijn zo
"""
_SWEDISH = """
att av de dem den det detta du där efter ej eller en ett från för ha hade han har hon hur i inte jag kan man med men
mig min mitt mot nu när någon och om oss på sig sin som så till under upp ut var vad vi vid är över
"""
_RUSSIAN = """
а без был была были было быть в вам вас во вот все вы где да для до его ее если есть еще же за и из или им их к как
какой когда кто ли меня мне мой мы на нас не него нет но ну о об он она они от по под при с со так там то тоже
только ты у уже что чтобы это этот я
"""

STOPWORDS: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "swedish": frozenset(_SWEDISH.split()),
    "russian": frozenset(_RUSSIAN.split()),
}
