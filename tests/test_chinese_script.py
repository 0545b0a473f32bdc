"""Characters: what is Simplified, what only looks like it, and what is not judged at all."""

import pytest

from bench.catalogue import Prompt
from bench.chinese import Finding, check, explanation, tables
from bench.text import words

HARD = (
    "与么优体儿凄吨听圣坏复宁岭峰并庄床异忏怀怜惊扑扰昵晒机"
    "构栖气沄泞洁洒洼灶炖瓮痒痴离秘篱粽网羡群肮肴苧茧蒏蔂虮虱蚕触赶霉"
)


def errors(text, **more):
    return "".join(f.text for f in check(text, **more) if f.severity == "error")


def hints(text, **more):
    return [f.text for f in check(text, **more) if f.severity == "hint"]


def asked(text, **checks):
    return Prompt(id="p", language="zh-TW", kind="own", text=text, checks=checks)


def test_the_table_holds_the_characters_that_big5_does_not():
    assert len(tables.outside_big5()) == 3750
    assert sum(ord(form) < 0x10000 for form in tables.outside_big5()) == 2609


def test_each_of_the_59_hard_characters_is_decided():
    assert {form for form in tables.changed() if tables.big5(form)} == set(HARD)
    assert set(HARD) <= set(tables.hard())


def test_a_hard_character_lists_words_that_hold_it():
    for form, case in tables.hard().items():
        assert all(form in word for word in (*case.wrong, *case.right)), form
        assert case.note


@pytest.mark.parametrize(
    "text",
    [
        "皇后在後花園等了三里路，台北的松樹表面很乾淨，他不想干預鄰里的事。",
        "余先生和范小姐在山谷裡聽人說：『詩云，知之為知之。』",
        "周先生公布借書制度，只要一千元；漏斗裡剩下的麵粉，丑時才收。",
        "少數組織改變量子比特的設計，報告展示了如何避免被發現。",
    ],
)
def test_right_text_that_conversion_would_accuse_is_not_accused(text):
    assert check(text) == ()


def test_every_simplified_character_is_found_where_it_stands():
    text = "會議紀錄已經完成，但是附件还沒有上傳。"
    assert check(text) == (
        Finding(
            start=13,
            end=14,
            text="还",
            rule="simplified",
            severity="error",
            fields={"taiwan": "還"},
        ),
    )
    assert errors("这个软件的问题已经发现了。") == "这个软问题经发现"


def test_a_form_of_hong_kong_is_only_a_hint():
    assert errors("沿着海岸走") == ""
    assert hints("沿着海岸走") == ["着"]
    assert hints("裏面的麪包") == ["裏", "麪"]


def test_forms_that_taiwan_uses_beside_others_say_nothing():
    assert check("空氣污染防制法、排泄、癡心、祕密、嘴脣、人蔘、鍼灸、喫茶、麻痹、正樑、棟梁") == ()
    assert check("客庄的灶上燉著虱目魚，棉被拿去晒，群峰下賣肉粽，秘密別發霉") == ()


def test_a_hard_character_is_wrong_in_one_word_and_right_in_another():
    assert errors("你什么時候回來") == "么"
    assert check("老么和么妹") == ()
    assert errors("并且") == "并" and check("并州") == ()
    assert hints("兼容并蓄") == ["并"] and errors("兼容并蓄") == ""
    assert errors("可怜的孩子") == "怜" and errors("陳怜女士") == ""
    assert check("離卦又稱离卦，代表火。") == ()


def test_a_character_of_both_scripts_is_wrong_only_in_words():
    assert errors("然后去工厂買苹果和餅干") == "后厂苹干"
    assert check("后羿射日，以后土為神，鄉愿，若干擾動，這里長很好，前仆後繼") == ()
    assert check("干淨")[0].fields["taiwan"] == "乾"
    assert check("在這里")[0].fields["taiwan"] == "裡"


def test_japanese_is_not_judged():
    assert check("店員說「国際通りの会社で働いています」，我聽不懂。") == ()
    assert check("東京では新しい駅が開業した。国内の学校。") == ()
    assert hints("日本歌手国分的新單曲") == ["国"]
    assert errors("我去日本学习，这很好") == "学习这"


def test_a_chinese_word_before_one_kana_is_still_judged():
    assert errors("这个软件的名字裡有一個の字") == "这个软"


def test_code_and_addresses_are_not_judged():
    code = "請執行：\n```python\nprint('软件')  # 这里\n```\n"
    text = code + "再看 `设置` 與 https://example.com/软件/下载 。"
    assert check(text) == ()
    assert errors(text + "还有") == "还"


def test_an_unclosed_fence_ends_with_the_text():
    assert check("```\n软件") == ()


def test_simplified_on_request_is_no_fault():
    assert check("这是简体中文。", prompt=asked("請用簡體中文寫一句話。")) == ()
    assert check("这是简体中文。", prompt=asked("寫一句話。", script="zh-CN")) == ()
    assert errors("這是「软件」。还有", prompt=asked("寫出一個詞。", script="quoted")) == "还"


def test_a_prompt_that_forbids_simplified_allows_none():
    assert errors("这樣", prompt=asked("請勿使用簡體字。")) == "这"
    assert errors("这樣", prompt=asked("Never use Simplified Chinese.")) == "这"


def test_what_the_prompt_brought_may_be_repeated():
    prompt = asked("「这个软件很好」是什麼意思？")
    assert errors("你問的是：这个软件很好。这表示稱讚。", prompt=prompt) == "这"


def test_a_quotation_beside_the_word_simplified_is_left_out():
    assert check("簡體字寫作「软件」，臺灣叫軟體。") == ()


def test_two_ways_to_write_taiwan_are_a_hint():
    assert hints("臺灣很美，我愛台灣。") == ["台灣"]
    assert check("臺灣大學的學生在台積電實習。") == ()


@pytest.mark.parametrize("text", ["這", "🙂🙂", "\0", "𠮷", "\u200f\u200e\u200b"])
def test_strange_text_is_no_error(text):
    assert errors(text) == ""


def test_every_rule_is_explained_in_both_languages():
    for finding in check("还有沿着并且兼容并蓄，臺灣台灣。日本国分"):
        assert finding.text in explanation(finding, words("en"))
        assert finding.text in explanation(finding, words("zh-TW"))
